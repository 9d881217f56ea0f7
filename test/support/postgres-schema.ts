import pg from 'pg'

/**
 * A schema as its catalogs tell it, in a form that can be read and compared: tables by name, each with its columns in
 * their order, constraints, indexes and triggers, then functions, of whose bodies only the digest is told: the text
 * stands in the migrations. What is not as it is by default is said: settings, rights, disabled triggers, and whatever
 * there is besides tables and functions.
 */
export async function schemaOf(url: string, schema = 'assay'): Promise<string> {
  // With nothing of ours on the search path everything is told with its schema.
  const client = new pg.Client({ connectionString: url, options: '-c search_path=pg_catalog' })
  await client.connect()
  try {
    const lines = async (query: string): Promise<string[]> =>
      (await client.query<{ line: string }>(query, [schema])).rows.map(({ line }) => line)
    const functions = (await lines(FUNCTIONS)).join('\n')
    return `${[...(await lines(TABLES)), functions, ...(await lines(OTHERS))].join('\n\n')}\n`
  } finally {
    await client.end()
  }
}

const TABLES = `
SELECT concat(
    format(E'CREATE TABLE %s (\n  ', c.oid::regclass),
    (SELECT string_agg(line, E',\n  ' ORDER BY place, n, name) FROM (
      SELECT 1 AS place, a.attnum AS n, '' AS name, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
             CASE WHEN a.attcollation <> t.typcollation THEN 'COLLATE ' || a.attcollation::regcollation END,
             CASE WHEN a.attnotnull THEN 'NOT NULL' END,
             'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)) AS line
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
       WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       UNION ALL
      SELECT 2, 0, k.conname COLLATE "C", format('CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid))
        FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'c', 'f', 'x')) columns),
    E'\n)', ' WITH (' || array_to_string(c.reloptions, ', ') || ')', ';',
    (SELECT string_agg(E'\n' || pg_get_indexdef(i.indexrelid) || ';', '' ORDER BY i.indexrelid::regclass::text COLLATE "C")
       FROM pg_index i WHERE i.indrelid = c.oid
        AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid)),
    (SELECT string_agg(concat(E'\n', pg_get_triggerdef(t.oid), ';', CASE WHEN t.tgenabled <> 'O' THEN ' -- ' || t.tgenabled::text END),
                       '' ORDER BY t.tgname COLLATE "C")
       FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
    E'\n-- rights: ' || c.relacl::text) AS line
  FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p')
 ORDER BY c.relname COLLATE "C"`

const FUNCTIONS = `
SELECT concat(
    format('CREATE FUNCTION %s(%s)', p.oid::regproc, pg_get_function_arguments(p.oid)),
    format(' RETURNS %s LANGUAGE %s', pg_get_function_result(p.oid), l.lanname),
    CASE p.provolatile WHEN 'i' THEN ' IMMUTABLE' WHEN 's' THEN ' STABLE' END,
    CASE WHEN p.proisstrict THEN ' STRICT' END, CASE WHEN p.prosecdef THEN ' SECURITY DEFINER' END,
    CASE WHEN p.proparallel <> 'u' THEN ' PARALLEL ' || p.proparallel::text END,
    (SELECT string_agg(' SET ' || setting, '' ORDER BY setting COLLATE "C") FROM unnest(p.proconfig) AS setting),
    format(E'\n  AS md5:%s;', md5(p.prosrc)), E'\n-- rights: ' || p.proacl::text) AS line
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = $1::regnamespace
 ORDER BY p.oid::regprocedure::text COLLATE "C"`

const OTHERS = `
SELECT line FROM (
  SELECT format('-- relation of kind %s: %s', relkind, oid::regclass) AS line FROM pg_class
   WHERE relnamespace = $1::regnamespace AND relkind NOT IN ('r', 'p', 'i')
   UNION ALL
  SELECT format('-- type of kind %s: %s', typtype, oid::regtype) FROM pg_type
   WHERE typnamespace = $1::regnamespace AND typtype NOT IN ('c', 'b')) others
 ORDER BY line COLLATE "C"`
