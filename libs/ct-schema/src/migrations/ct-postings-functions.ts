/** Whether the filter of a block lets a key through; posting-block.ts. */
const mayHave = (postings: string, key: string) =>
  `get_bit(${postings}, 16 + ${key} % (8 * (get_byte(${postings}, 0) * 256 + get_byte(${postings}, 1)))) = 1`;

const young = 'ct_block_young';
const all = 'ct_block';

/** The block that the position behind the cursor would be in, and those that follow it. */
const inFirstRun = (table: string) => `
  SELECT
    string_agg(int8send(ends[1]) || int4send(wanted.nth::integer) || int4send(octet_length(found.postings))
      || found.postings, ''::bytea ORDER BY wanted.nth, found.first_key, found.first_position)
      FILTER (WHERE ${mayHave('found.postings', 'wanted.key')}),
    bool_or(found.first_key = wanted.key AND found.first_position > after + 1)
  INTO found_all, goes_on
  FROM unnest(shards, keys) WITH ORDINALITY AS wanted (shard, key, nth)
  CROSS JOIN LATERAL (
    (SELECT block.first_key, block.first_position, block.postings FROM ${table} AS block
     WHERE ${table === young ? 'true' : 'block.home = homes[1]'} AND block.run = ids[1] AND block.shard = wanted.shard
       AND (block.first_key, block.first_position) <= (wanted.key, after + 1)
     ORDER BY block.first_key DESC, block.first_position DESC LIMIT 1)
    UNION ALL
    (SELECT block.first_key, block.first_position, block.postings FROM ${table} AS block
     WHERE ${table === young ? 'true' : 'block.home = homes[1]'} AND block.run = ids[1] AND block.shard = wanted.shard
       AND block.first_key = wanted.key AND block.first_position > after + 1
     ORDER BY block.first_position LIMIT following)) AS found`;

/** Young runs are looked for in their own table: a lookup in all tables takes time for each of them. */
const inOtherRuns = (table: string) => `
  SELECT string_agg(int8send(other.to_position) || int4send(wanted.nth::integer)
    || int4send(octet_length(found.postings)) || found.postings, ''::bytea)
  FROM unnest(ids[2:], homes[2:], ends[2:]) AS other (id, home, to_position)
  CROSS JOIN unnest(shards, keys) WITH ORDINALITY AS wanted (shard, key, nth)
  CROSS JOIN LATERAL (
    SELECT block.postings FROM ${table} AS block
    WHERE ${table === young ? 'other.home = 0' : 'other.home <> 0 AND block.home = other.home'}
      AND block.run = other.id AND block.shard = wanted.shard
      AND (block.first_key, block.first_position) <= (wanted.key, after + 1)
    ORDER BY block.first_key DESC, block.first_position DESC LIMIT 1) AS found
  WHERE ${mayHave('found.postings', 'wanted.key')}`;

/** Bytes of names on a page, as they are stored: no real page has as many, and an entry of a log may have 16 MB of them. */
const maxNameBytes = 1_048_576;

/** What the first of the fresh lists says that the serial number is on. */
const revocation = `
  SELECT boolsend(true) || timestamptz_send(revoked_at) || int2send(reason) || timestamptz_send(checked_at)
  FROM ct_revocation JOIN ct_crl ON ct_crl.id = ct_revocation.crl AND fresh_until > now()
  WHERE ct_revocation.issuer = issuance.issuer AND ct_revocation.serial = issuance.serial
  ORDER BY revoked_at, ct_crl.id LIMIT 1`;

/**
 * Issuances in one value, as ten times as many take longer to separate than to find, each with what a fresh list says of its
 * serial number: the first one of those that are on it. Fewer where there are too many names, but at least one. What is in it:
 * packed-issuances.ts
 */
const packed = (issuances: string) => `
  SELECT boolsend(bool_and(fits)) || string_agg(
    int8send(position) || tbs_sha256 || cert_sha256 || spki_sha256 || boolsend(precertificate)
      || int4send(issuance.issuer) || int4send(coalesce(crl, 0)) || timestamptz_send(not_before)
      || timestamptz_send(not_after) || timestamptz_send(discovered_at) || coalesce((${revocation}), '\\x00')
      || int4send(octet_length(serial)) || serial || array_send(dns_names),
    ''::bytea ORDER BY position) FILTER (WHERE fits)
  FROM (
    SELECT *, sum(pg_column_size(dns_names)) OVER (ORDER BY position) - pg_column_size(dns_names) <= ${maxNameBytes} AS fits
    FROM (${issuances}) AS one) AS issuance`;

/**
 * The lookups of a page, as functions, since a function keeps its plan: to plan these takes several times as long as to run them.
 * The plan is a general one, as the costs of a lookup do not depend on the values.
 */
export const pageFunctions = [
  // In each run and for each key one descent to the block that the position behind the cursor would be in; in the first run also
  // the blocks that follow it: where a key goes on in them, there is no need to look into other runs yet. All queries of a STABLE
  // function see the state that the one that calls it sees, and so one state of the runs. What it returns: find-positions.ts
  `CREATE FUNCTION ct_find_postings(after bigint, shards smallint[], keys bigint[], most_runs integer, following integer)
   RETURNS bytea
   LANGUAGE plpgsql STABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan AS $$
   DECLARE
     ids integer[];
     homes bigint[];
     ends bigint[];
     found_all bytea;
     goes_on boolean;
   BEGIN
     SELECT array_agg(id), array_agg(home), array_agg(to_position) INTO ids, homes, ends
     FROM (
       SELECT id, home, to_position FROM ct_run
       WHERE to_position > after + 1 ORDER BY to_position LIMIT most_runs + 1) AS run;
     IF ids IS NULL THEN
       RETURN int8send(0);
     END IF;
     IF homes[1] = 0 THEN
       ${inFirstRun(young)};
     ELSE
       ${inFirstRun(all)};
     END IF;
     found_all := coalesce(found_all, '');
     IF goes_on THEN
       RETURN int8send(ends[1]) || found_all;
     END IF;
     IF 0 = ANY (homes[2:]) THEN
       found_all := found_all || coalesce((${inOtherRuns(young)}), '');
     END IF;
     IF 0 <> ANY (homes[2:]) THEN
       found_all := found_all || coalesce((${inOtherRuns(all)}), '');
     END IF;
     RETURN int8send(CASE WHEN cardinality(ids) > most_runs THEN ends[cardinality(ids)] ELSE 0 END) || found_all;
   END $$`,
  // Positions come in order: a general plan finds the tables that it needs by their bounds.
  `CREATE FUNCTION ct_pack_issuances(positions bigint[], with_expired boolean) RETURNS bytea
   LANGUAGE plpgsql STABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan AS $$
   BEGIN
     RETURN (${packed(`
       SELECT * FROM ct_issuance
       WHERE position BETWEEN positions[1] AND positions[cardinality(positions)] AND position = ANY (positions)
         AND (with_expired OR not_after >= now())`)});
   END $$`,
  `CREATE FUNCTION ct_pack_stream(after bigint, most integer) RETURNS bytea
   LANGUAGE plpgsql STABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan AS $$
   BEGIN
     RETURN (${packed(`SELECT * FROM ct_issuance WHERE position > after ORDER BY position LIMIT most`)});
   END $$`,
];
