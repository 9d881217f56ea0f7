-- The event of another host that led to this one, where one did. Such an event has no cause of its own log.
ALTER TABLE events ADD COLUMN foreign_cause TEXT CHECK (foreign_cause IS NULL OR cause IS NULL);
