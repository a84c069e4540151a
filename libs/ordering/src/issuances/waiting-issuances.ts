import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Open issuances that wait for a CA that is down. */
@Injectable()
export class WaitingIssuances {
  constructor(private readonly database: DataSource) {}

  /**
   * Claims the probe of each CA that is down, due for a probe, and waited for: only one process gets it. The waiting
   * issuances become due after that probe, in case this process dies, and report so to their owners. Those with a due
   * time of their own keep it.
   *
   * @param probeInMs until the next probe of the same CA
   * @param graceMs between a probe and the time at which the waiting issuances are attempted anyway
   * @returns names of CAs
   */
  async claimProbes(probeInMs: number, graceMs: number): Promise<readonly string[]> {
    // On its own: when very many issuances wait, moving all of them takes longer than a statement may.
    const [rows] = await this.database.query<[{ name: string }[], number]>(claimStatement, [probeInMs]);
    const names = rows.map(({ name }) => name);
    if (names.length > 0) await this.moveBehindProbes(names, graceMs);
    return names;
  }

  private async moveBehindProbes(names: readonly string[], graceMs: number): Promise<void> {
    let [openedAt, id] = ['-infinity', '0'];
    for (;;) {
      const [last] = await this.database.query<[{ opened_at: string; id: string; count: number }?]>(
        moveStatement,
        [names, graceMs, openedAt, id],
      );
      if (last === undefined || last.count < batch) return;
      [openedAt, id] = [last.opened_at, last.id];
    }
  }

  /**
   * Makes the issuance that has waited longest due now.
   *
   * @param except ids of those that were tried already
   * @returns its id; null: none
   */
  async takeOldest(authority: string, except: readonly string[]): Promise<string | null> {
    const [rows] = await this.database.query<[{ id: string }[], number]>(
      `UPDATE issuance SET due_at = clock_timestamp()
       WHERE id = (
         SELECT id FROM issuance
         WHERE state = 'open' AND waits_for IS NOT NULL AND waits_for @> ARRAY[$1]
           AND (leased_until IS NULL OR leased_until <= now()) AND id <> ALL ($2::bigint[])
         ORDER BY opened_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [authority, except],
    );
    return rows[0]?.id ?? null;
  }

  /**
   * Makes issuances that wait for a CA that is up again due now, in order of age. Checks the state and not its
   * change, so that none is missed when a process dies or an issuance begins to wait at that moment.
   *
   * @returns how many
   */
  async release(): Promise<number> {
    return await this.releaseAll(`NOT waits_for <@ (
      SELECT coalesce(array_agg(name), '{}') FROM certificate_authority WHERE down_since IS NOT NULL)`);
  }

  /**
   * An operator has changed CAs, or the CAs of a product: every waiting issuance is attempted once all processes have
   * read the change, and waits again if necessary.
   */
  async reconsider(): Promise<void> {
    await this.releaseAll('true', knownAfterMs);
  }

  private async releaseAll(condition: string, inMs = 0): Promise<number> {
    for (let all = 0; ;) {
      const [, released] = await this.database.query<[unknown, number]>(releaseStatement(condition), [inMs]);
      all += released;
      if (released < batch) return all;
    }
  }
}

/** Rows of one statement: each changes several indexes, and a statement may take 10 s. */
const batch = 5_000;

/** Longer than a process caches CAs. */
const knownAfterMs = 6_000;

/** The outcome with the time of the next probe, of the CA itself or of one of several that refused. */
const probedAt = (outcome: string) => `CASE
  WHEN ${outcome}->>'code' = 'ca_down' AND ${outcome}->>'authority' = name
    THEN ${outcome} || jsonb_build_object('nextProbeAt', probe_at)
  WHEN ${outcome}->>'code' = 'cas_refused'
    THEN ${outcome} || jsonb_build_object('refusals', (
      SELECT jsonb_agg(CASE
        WHEN refusal->'outcome'->>'code' = 'ca_down' AND refusal->>'authority' = name
          THEN jsonb_set(refusal, '{outcome,nextProbeAt}', to_jsonb(probe_at))
        ELSE refusal END ORDER BY place)
      FROM jsonb_array_elements(${outcome}->'refusals') WITH ORDINALITY AS each (refusal, place)))
  ELSE ${outcome} END`;

/** Moved with each probe, an issuance that may use another CA at its own time would never be due. */
const keepsDueTime = `coalesce(last_error ? 'keepsDueTime', false)`;

const claimStatement = `
  UPDATE certificate_authority AS authority
  SET down_until = clock_timestamp() + $1 * interval '1 millisecond'
  WHERE down_since IS NOT NULL AND down_until <= clock_timestamp() AND EXISTS (
    SELECT 1 FROM issuance
    WHERE state = 'open' AND waits_for IS NOT NULL AND waits_for @> ARRAY[authority.name])
  RETURNING name`;

/** $1 CAs, $2 ms, $3 and $4 the last of the previous batch. */
const moveStatement = `
  WITH waiting AS MATERIALIZED (
    SELECT id, opened_at FROM issuance
    WHERE state = 'open' AND waits_for IS NOT NULL AND waits_for && $1::text[] AND (opened_at, id) > ($3::timestamptz, $4::bigint)
    ORDER BY opened_at, id LIMIT ${batch}),
  claimed AS (
    SELECT name, down_until, to_char(down_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS probe_at
    FROM certificate_authority WHERE name = ANY ($1::text[]) AND down_until IS NOT NULL),
  moved AS (
    UPDATE issuance SET
      due_at = CASE WHEN ${keepsDueTime} THEN due_at ELSE down_until + $2 * interval '1 millisecond' END,
      last_error = jsonb_set(last_error, '{message}', to_jsonb(regexp_replace(
          last_error->>'message', '(The next probe of ' || name || ' is at )[-0-9:TZ]+', '\\1' || probe_at)))
        || CASE WHEN jsonb_typeof(last_error->'outcome') = 'object'
          THEN jsonb_build_object('outcome', ${probedAt(`last_error->'outcome'`)}) ELSE '{}' END
    FROM waiting, claimed
    WHERE issuance.id = waiting.id AND state = 'open' AND waits_for IS NOT NULL AND waits_for @> ARRAY[name]
      AND (${keepsDueTime} OR due_at <= clock_timestamp() + $2 * interval '1 millisecond'))
  SELECT opened_at::text, id, (SELECT count(*)::int FROM waiting) AS count
  FROM waiting ORDER BY waiting.opened_at DESC, waiting.id DESC LIMIT 1`;

/** Microseconds apart: the sweep takes the oldest first, also those of an earlier batch. */
const releaseStatement = (condition: string) => `
  UPDATE issuance SET
    due_at = now() + $1::int * interval '1 millisecond' - younger * interval '2 microseconds',
    waits_for = NULL
  FROM (
    SELECT id, count(*) OVER () - row_number() OVER (ORDER BY opened_at, id) AS younger
    FROM (
      SELECT id, opened_at FROM issuance
      WHERE state = 'open' AND waits_for IS NOT NULL AND ${condition}
      ORDER BY opened_at, id LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED) AS oldest) AS waiting
  WHERE issuance.id = waiting.id AND state = 'open' AND waits_for IS NOT NULL`;
