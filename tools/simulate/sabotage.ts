import type { Pool } from 'pg';
import type { Fate, Subject } from './audit/findings';
import type { SimulatedTime } from './faults/fault-windows';

interface Defect {
  /** The violation that the audit must report. */
  readonly found: readonly [Fate, Subject];
  /** Repeated until it changes a row; with `always`, at every step. */
  readonly statement: string;
  readonly always?: true;
}

/** Two disjoint sets, each of every seventh plan. */
const firstSample = (plan: string) => `${plan} % 7 = 3`;
const secondSample = (plan: string) => `${plan} % 7 = 5`;

const trigger = (table: string, when: string, body: string, event = 'INSERT') => `
  CREATE FUNCTION sabotage_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
  CREATE TRIGGER sabotage BEFORE ${event} ON ${table} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION sabotage_${table}()`;

/** Defects that are planted in the database, to show that the audit finds them. */
export const defects = {
  'skipped-renewal': {
    found: ['lost', 'certificates'],
    // Also when an expired certificate makes a renewal due again.
    statement: `${trigger('plan', firstSample('NEW.id'), 'NEW.renew_at := NULL; RETURN NEW;', 'UPDATE')};
      UPDATE plan SET renew_at = NULL WHERE ${firstSample('id')}`,
  },
  'late-renewal': {
    found: ['late', 'certificates'],
    statement: `UPDATE plan SET renew_at = certificate.not_after - interval '12 days' FROM certificate
      WHERE certificate.plan_id = plan.id AND is_current AND ${secondSample('plan.id')}
        AND renew_at < certificate.not_after - interval '12 days'`,
    always: true,
  },
  'doubled-certificate': {
    found: ['duplicated', 'certificates'],
    statement: `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
      SELECT plan.id, plan.account_id, plan.terms_id, 1000000, 'open', '[]', now() FROM plan
      JOIN certificate ON plan_id = plan.id AND is_current AND certificate.created_at < now() - interval '20 days'
        AND renew_at > now() + interval '20 days'
      WHERE closed_at IS NULL AND NOT paused AND plan.terms_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM issuance WHERE plan_id = plan.id AND state = 'open') LIMIT 1`,
  },
  'doubled-notice': {
    found: ['duplicated', 'notices'],
    statement: `INSERT INTO mail (account_id, kind, recipient, facts, state, due_at)
      SELECT mail.account_id, kind, recipient, facts, 'pending', now() FROM mail
      JOIN certificate ON certificate.id = (facts ->> 'certificateId')::bigint AND is_current
        AND revoked_at IS NULL AND not_after > now()
      WHERE kind = 'expiration-notice' AND mail.state = 'sent' LIMIT 1`,
  },
  'lost-notices': {
    found: ['lost', 'notices'],
    statement: trigger('mail', `NEW.kind = 'expiration-notice'`, `NEW.state := 'canceled'; RETURN NEW;`),
  },
  'doubled-ledger-entry': {
    found: ['duplicated', 'money'],
    statement: `DROP INDEX IF EXISTS ledger_entry_once;
      INSERT INTO ledger_entry (account_id, kind, cents, currency, charge_id, note)
      SELECT account_id, kind, cents, currency, charge_id, note FROM ledger_entry WHERE kind = 'charge' LIMIT 1`,
  },
  'lost-ledger-entry': {
    found: ['lost', 'money'],
    statement: `DELETE FROM ledger_entry WHERE id = (SELECT min(id) FROM ledger_entry WHERE kind = 'charge')`,
  },
  'changed-balance': {
    found: ['wrong', 'money'],
    statement: `UPDATE account_balance SET balance_cents = balance_cents + 1
      WHERE account_id = (SELECT min(account_id) FROM account_balance)`,
  },
  'forgotten-revocation': {
    found: ['lost', 'revocation lists'],
    statement: `WITH forgotten AS (
        UPDATE ca_signing SET revoked_at = NULL WHERE issuance_id = (
          SELECT issuance_id FROM ca_signing WHERE revoked_at IS NOT NULL AND not_after > now() + interval '10 days' LIMIT 1)
        RETURNING 1)
      UPDATE ca_issuer SET crl_made_at = NULL WHERE name = 'intermediate' AND EXISTS (SELECT 1 FROM forgotten)`,
  },
  'stale-list': {
    found: ['wrong', 'revocation lists'],
    statement: `UPDATE ca_issuer SET crl_next_update = 'infinity', crl_made_at = coalesce(crl_made_at, now())`,
    always: true,
  },
  'doubled-webhook': {
    found: ['duplicated', 'webhooks'],
    statement: `INSERT INTO webhook_delivery
        (id, account_id, endpoint_id, plan_id, version, replay_of, event, body, state, due_at)
      SELECT 'msg_sabotage', account_id, endpoint_id, plan_id, version, 'sabotage', event, body, 'pending', now()
      FROM webhook_delivery AS delivery WHERE state = 'delivered' AND version = (
        SELECT current_version FROM plan WHERE plan.id = plan_id AND closed_at IS NULL) LIMIT 1`,
  },
  'lost-webhooks': {
    found: ['lost', 'webhooks'],
    statement: trigger('webhook_delivery', firstSample('NEW.plan_id'), 'RETURN NULL;'),
  },
  'stuck-issuances': {
    found: ['lost', 'leftovers'],
    statement: trigger(
      'issuance',
      firstSample('NEW.plan_id'),
      `NEW.leased_until := now() + interval '10 years'; RETURN NEW;`,
    ),
  },
} as const satisfies Record<string, Defect>;

export type Sabotage = keyof typeof defects;

export const isSabotage = (name: string): name is Sabotage => Object.hasOwn(defects, name);

/** Plants defects after a quarter of the time. */
export class Saboteur {
  readonly planted = new Set<Sabotage>();

  constructor(
    private readonly auditor: Pool,
    private readonly sabotage: readonly Sabotage[],
    private readonly time: SimulatedTime,
  ) {}

  async plant(atMs: number): Promise<void> {
    const { startMs, endMs } = this.time;
    if (atMs < startMs + (endMs - startMs) / 4) return;
    for (const name of this.sabotage) {
      const { statement, always }: Defect = defects[name];
      if (this.planted.has(name) && always === undefined) continue;
      const result = await this.auditor.query(statement);
      const results: readonly Result[] = Array.isArray(result) ? result : [result];
      if (results.some(({ command, rowCount }) => command === 'CREATE' || (rowCount ?? 0) > 0))
        this.planted.add(name);
    }
  }
}

interface Result {
  readonly command: string;
  readonly rowCount: number | null;
}
