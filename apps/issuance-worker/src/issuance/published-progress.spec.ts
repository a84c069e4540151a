import type { Issuance, IssuanceError, NameApproval } from '@certwright/issuance';
import type { IssuanceProgress } from '@certwright/ordering';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';
import { Approving, byDns } from '../testing/approving';
import type { OpenedIssuance } from '../testing/opened-issuance';
import { soleIssuer } from '../testing/sole-issuer';
import { isSeen } from './published-progress';

const pending: NameApproval = {
  dnsName: 'a.example.com',
  status: 'pending',
  method: null,
  problem: { code: 'dns_zone_unknown', dnsName: 'a.example.com' },
  checkedAt: '2026-11-20T12:00:00Z',
};
const limit = { code: 'text', text: 'later' } as const;
const unavailable: IssuanceError = {
  code: 'ca_unavailable',
  outcome: { code: 'ca_unreachable', authority: null, detail: '' },
};
const before: Issuance = {
  id: '1',
  planId: '2',
  accountId: '3',
  termsId: '4',
  revision: 1,
  state: 'open',
  approvals: [pending],
  caReference: null,
  failures: 0,
  lastError: null,
  expiresBy: null,
  openedAt: new Date('2026-11-20T11:00:00Z'),
  dueAt: new Date('2026-11-20T12:00:00Z'),
};

describe('isSeen', () => {
  it.each<[boolean, string, IssuanceProgress]>([
    [true, 'it is closed', { state: 'canceled' }],
    [true, 'a name is approved', { approvals: [{ ...pending, status: 'approved', method: 'dns' }] }],
    [
      false,
      'a name was looked at once more in vain',
      { approvals: [{ ...pending, problem: { code: 'text', text: 'other' } }] },
    ],
    [true, 'it failed', { failures: 1, lastError: unavailable }],
    [true, 'it waits for a limit', { lastError: { code: 'rate_limited', outcome: limit } }],
    [false, 'nothing is wrong, as before', { lastError: null }],
    [false, 'it waits on', { dueAt: new Date() }],
    [false, 'the CA has it', { caReference: 'acme:1' }],
  ])('%s: %s', (seen, _, progress) => expect(isSeen(before, progress)).toBe(seen));

  it('detects progress after a failure, and a lost approval', () => {
    const failed: Issuance = {
      ...before,
      approvals: [{ ...pending, status: 'approved', method: 'dns' }],
      lastError: unavailable,
    };
    expect(isSeen(failed, { lastError: null })).toBe(true);
    expect(isSeen(failed, { lastError: failed.lastError })).toBe(false);
    expect(isSeen(failed, { approvals: [pending] })).toBe(true);
  });
});

describe('notifications about an issuance', () => {
  let approving: Approving;
  beforeAll(async () => {
    approving = await Approving.open('7000001', ['example.com']);
  }, 30_000);
  afterAll(async () => await approving.close());

  /** The database state at each message, read from another connection. */
  async function publishedBy(
    opened: OpenedIssuance,
    steps: readonly ((worker: Run) => Promise<unknown>)[],
    ca?: CertificateAuthority,
  ) {
    const found: Promise<string>[] = [];
    const ports = approving.issuing.ports();
    const changed = ({ id }: Pick<Issuance, 'id'>) => {
      expect(id).toBe(opened.issuanceId);
      found.push(
        approving.find(id).then(({ state, approvals, last_error: error }) => {
          return [state, ...approvals.map(({ status }) => status), error?.code ?? 'fine'].join(' ');
        }),
      );
    };
    const unexpectedError = () => undefined;
    const events = { ...ports.events, changed, unexpectedError };
    const worker = approving.worker({ events, ...(ca === undefined ? {} : { issuers: soleIssuer(ca) }) });
    for (const step of steps) {
      await step(async () => await approving.advance(opened, worker));
      await Promise.all(found);
    }
    return await Promise.all(found);
  }
  type Run = () => Promise<unknown>;

  it('are sent after the commit: for each approval and the certificate, but not for checks without a result', async () => {
    const opened = await approving.order({ 'a.example.com': byDns(), 'b.example.com': byDns() });
    const published = await publishedBy(opened, [
      async (run) => await run(),
      async (run) => await run(),
      async (run) => {
        await approving.publishRecord('a.example.com');
        await run();
      },
      async (run) => await run(),
      async (run) => {
        await approving.publishRecord('b.example.com');
        await run();
      },
      async (run) => await run(),
    ]);
    expect(published[0]).toBe('open approved pending fine');
    expect(published.at(-1)).toBe('issued approved approved fine');
    // The last approval is stored with the submission, just before the certificate exists.
    expect(published).toHaveLength(3);
  });

  it('are sent for a temporary and for a final failure', async () => {
    const opened = await approving.order({ 'a.example.com': byDns() });
    await approving.publishRecord('a.example.com');
    const unavailable = async () => await Promise.reject(new Error('unavailable'));
    const ca: CertificateAuthority = { submit: unavailable, collect: unavailable, revoke: unavailable };
    const published = await publishedBy(
      opened,
      [
        async (run) => await run(),
        async (run) => {
          await approving.database.query(`UPDATE issuance SET expires_by = now() WHERE id = $1`, [
            opened.issuanceId,
          ]);
          await run();
        },
      ],
      ca,
    );
    expect(published).toEqual(['open pending ca_unavailable', 'failed pending ca_rejected']);
  });

  it('are sent when it is canceled with its plan', async () => {
    const opened = await approving.order({ 'a.example.com': byDns() });
    await approving.database.query(`UPDATE plan SET closed_at = now() WHERE id = $1`, [opened.planId]);
    expect(await publishedBy(opened, [async (run) => await run()])).toEqual(['canceled pending fine']);
  });
});
