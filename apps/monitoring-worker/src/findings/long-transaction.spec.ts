import { FindingsFixture, issuanceFor } from '../testing/findings-fixture';

let fixture: FindingsFixture;
beforeAll(async () => {
  fixture = await FindingsFixture.open();
});
afterAll(async () => await fixture.close());

const reasonsOf = async (account: string) => (await fixture.findings(account)).map(({ reason }) => reason);

/** A write transaction of any process that lasts: a migration, an index that is built, an import. */
async function duringLongTransaction(work: () => Promise<void>): Promise<void> {
  const runner = fixture.core.createQueryRunner();
  await runner.startTransaction();
  try {
    await runner.query(`SELECT pg_current_xact_id()`);
    await work();
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

it('knows what one account authorizes although another one authorized much during a long transaction', async () => {
  const lease = await fixture.lease('classifying');
  await fixture.classifying.round(lease, 0);
  const [busy, quiet] = [await fixture.account(), await fixture.account()];
  const issuance = issuanceFor(['a.example.com']);
  await fixture.find({ [quiet]: ['.example.com'] }, [issuance]);
  await duringLongTransaction(async () => {
    await fixture.core.query(
      `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
       SELECT pg_current_xact_id()::text::bigint, $1, 'known_cert', n::text, 'created', '{}' FROM generate_series(1, 1000) AS n`,
      [busy],
    );
    await fixture.known(quiet, { tbs: issuance.tbsSha256 });
    for (let nowMs = 10_000; nowMs < 40_000; nowMs += 3_000) await fixture.classifying.round(lease, nowMs);
    expect(await reasonsOf(quiet)).toEqual(['known_cert']);
  });
});

it('examines the findings of an account once for each change of its settings', async () => {
  const lease = await fixture.lease('classifying');
  const account = await fixture.account();
  const issuances = Array.from({ length: 1_100 }, () => issuanceFor(['a.example.com']));
  await fixture.find({ [account]: ['.example.com'] }, issuances);
  for (let nowMs = 100_000; (await fixture.classifying.round(lease, nowMs)) === 0;) nowMs += 3_000;
  await duringLongTransaction(async () => {
    await fixture.change(account, 'settings', '');
    let rounds = 0;
    // A round takes 3 s of the clock that it is given.
    for (let nowMs = 200_000; rounds < 40; rounds += 1, nowMs += 3_000)
      if ((await fixture.classifying.round(lease, nowMs)) > 0) break;
    expect(rounds).toBeLessThan(10);
  });
});

it('knows what was authorized while the finding was recorded, and read before that was committed', async () => {
  const lease = await fixture.lease('classifying');
  const account = await fixture.account();
  const issuance = issuanceFor(['a.example.com']);
  // Stored in the index; its domain is added.
  await fixture.find({ [account]: ['.example.com'] }, [issuance]);
  await fixture.core.query(`DELETE FROM monitoring_finding WHERE account_id = $1`, [account]);
  let nowMs = 1_000_000;
  while ((await fixture.classifying.round(lease, nowMs)) === 0) nowMs += 3_000;

  // As a request: it locks the account first, and so has the smaller transaction id.
  const request = fixture.core.createQueryRunner();
  await request.startTransaction();
  await request.query(`SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE`, [account]);
  const [recorded, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [{ position, issuer }] = await fixture.ct.query<[{ position: string; issuer: number }]>(
    `SELECT position, issuer FROM ct_issuance WHERE tbs_sha256 = $1`,
    [Buffer.from(issuance.tbsSha256, 'hex')],
  );
  const names = [
    { dnsName: 'a.example.com', monitoredDomain: '.example.com', isWildcard: false, isOddName: false },
  ];
  const recording = fixture.transactions.run(async (tx) => {
    const concerned = {
      ...{
        position,
        issuer,
        notBefore: new Date(),
        notAfter: issuance.notAfter,
        dnsNames: ['a.example.com'],
      },
      tbsSha256: Buffer.from(issuance.tbsSha256, 'hex'),
      spkiSha256: Buffer.from(issuance.spkiSha256, 'hex'),
      accounts: [{ account, names, isComplete: true }],
    };
    await fixture.record.record(tx, [concerned], 'stream', null);
    recorded.resolve();
    await end.promise;
  });
  await recorded.promise;
  await request.query(
    `INSERT INTO known_cert (id, account_id, tbs_sha256, note) VALUES (4711, $1, decode($2, 'hex'), '')`,
    [account, issuance.tbsSha256],
  );
  await request.query(
    `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
     VALUES (pg_current_xact_id()::text::bigint, $1, 'known_cert', '4711', 'created', '{}')`,
    [account],
  );
  await request.commitTransaction();
  await request.release();
  await fixture.classifying.round(lease, (nowMs += 3_000));
  end.resolve();
  await recording;
  for (let round = 0; round < 5; round += 1) await fixture.classifying.round(lease, (nowMs += 3_000));
  expect(await reasonsOf(account)).toEqual(['known_cert']);
});
