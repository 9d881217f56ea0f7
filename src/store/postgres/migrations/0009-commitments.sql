-- Commitments are a third kind of standing stream.

CREATE OR REPLACE FUNCTION is_stream(workflow text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT workflow IN ('assay-goal', 'assay-schedule', 'assay-commitment')
$$;
