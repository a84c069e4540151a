import { neutralMessage } from '@certwright/outcome-messages';
import { baseName } from '@certwright/dns-names';
import type { ApprovalQuestion, Approver } from '../approver';

export type Tenant = 'a' | 'b';

/** External systems: name servers, web servers. `silent`: accepts a query and never responds. */
export type Outside = 'reachable' | 'unreachable' | 'silent';

/** An adapter with its environment. Every name that is passed in is new to it. */
export interface ApproverWorld {
  readonly approver: Approver;
  /** Everything that a tenant needs for approval of the name by this method. */
  question(tenant: Tenant, dnsName: string): Promise<ApprovalQuestion>;
  /** The action of the tenant or the mailbox. */
  approve(question: ApprovalQuestion): Promise<void>;
  /** Undoes it: the record, or the rule, is removed. */
  withdraw?(question: ApprovalQuestion): Promise<void>;
  /** Rows and mails that the adapter has stored or sent so far. */
  effects?(): Promise<number>;
  setOutside?(state: Outside): void;
  /** The same approver over a database that does not respond. */
  withoutDatabase?(): Approver;
  /** Advances time until an approval of now is too old. */
  outlive?(question: ApprovalQuestion): ApprovalQuestion;
  close?(): Promise<void>;
}

/** Documented limitations of an adapter. */
export type Inability =
  'bare' | 'tenants' | 'wildcards' | 'withdraw' | 'effects' | 'outside' | 'database' | 'age';

export interface ApproverSpec {
  readonly name: string;
  setUp(): Promise<ApproverWorld>;
  /** Each with its reason; the tests about it are skipped. */
  readonly cannot?: Partial<Record<Inability, string>>;
}

/** For checks that are not aborted. */
const unhurriedMs = 20_000;

/** The contract of `Approver` as one suite: every adapter's spec runs it. */
export function describeApprover({ name, setUp, cannot = {} }: ApproverSpec): void {
  describe(`${name} as an approver`, () => {
    let world: ApproverWorld;
    let count = 0;

    beforeAll(async () => void (world = await setUp()), 60_000);
    afterAll(async () => await world.close?.());
    afterEach(() => world.setOutside?.('reachable'));

    const rule = (needs: Inability | null, title: string, hold: () => Promise<void>): void => {
      const reason = needs === null ? undefined : cannot[needs];
      if (reason === undefined) it(title, hold);
      else it.skip(`${title}: ${reason}`, hold);
    };
    const newName = () => `n${(count += 1)}.example.com`;
    const newQuestion = async (tenant: Tenant = 'a') => await world.question(tenant, newName());
    const check = async (question: ApprovalQuestion, signal = AbortSignal.timeout(unhurriedMs)) =>
      await world.approver.check(question, signal);
    const isApproved = async (question: ApprovalQuestion) => (await check(question)).approved;
    /** Not approved, with an outcome that can be shown and stored. */
    const expectProblem = async (question: ApprovalQuestion, signal?: AbortSignal) => {
      const result = await check(question, signal);
      if (result.approved) throw new Error('approved');
      expect(neutralMessage(result.problem)).toMatch(/^\S.{10,}\.$/s);
      expect(JSON.parse(JSON.stringify(result.problem))).toEqual(result.problem);
    };

    rule(null, 'approves what is approved, not before, and says what is missing until then', async () => {
      const question = await newQuestion();
      await expectProblem(question);
      await world.approve(question);
      expect(await isApproved(question)).toBe(true);
    });

    rule(null, 'returns the same result however often it is called', async () => {
      const [missing, approved] = [await newQuestion(), await newQuestion()];
      // A mailbox approves its own request.
      await check(approved);
      await world.approve(approved);
      for (const question of [missing, approved]) {
        const result = await check(question);
        for (let again = 0; again < 3; again += 1) expect(await check(question)).toEqual(result);
      }
    });

    rule(
      'effects',
      'stores and sends nothing more when it is called again, also at the same time',
      async () => {
        const question = await newQuestion();
        await check(question);
        const before = await world.effects?.();
        await check(question);
        await Promise.all([check(question), check(question), check(question)]);
        expect(await world.effects?.()).toBe(before);
      },
    );

    rule(null, 'checks several names at the same time, each by itself', async () => {
      const questions = await Promise.all(Array.from({ length: 6 }, async () => await newQuestion()));
      await Promise.all(questions.map(async (question) => await check(question)));
      for (const index of [1, 4]) await world.approve(questions[index] as ApprovalQuestion);
      const answers = await Promise.all(questions.map(isApproved));
      expect(answers).toEqual([false, true, false, false, true, false]);
    });

    rule('tenants', 'approves for the tenant of the question, and for no other', async () => {
      const dnsName = newName();
      const [a, b] = [await world.question('a', dnsName), await world.question('b', dnsName)];
      await Promise.all([check(a), check(b)]);
      await world.approve(a);
      expect(await isApproved(a)).toBe(true);
      await expectProblem(b);
    });

    rule('withdraw', 'does not approve a name whose proof was removed', async () => {
      const question = await newQuestion();
      await world.approve(question);
      expect(await isApproved(question)).toBe(true);
      await world.withdraw?.(question);
      await expectProblem(question);
    });

    rule('age', 'returns when it was approved, and accepts it until that is too long ago', async () => {
      const question = await newQuestion();
      await check(question);
      const earliest = Date.now();
      await world.approve(question);
      const result = await check(question);
      if (!result.approved) throw new Error(neutralMessage(result.problem));
      // The database and this process share a machine's clock.
      expect(result.at?.getTime()).toBeGreaterThan(earliest - 1_000);
      expect(result.at?.getTime()).toBeLessThan(Date.now() + 1_000);
      await expectProblem(world.outlive?.(question) ?? question);
    });

    describe('a place', () => {
      rule(null, 'is the same at every call, and another one for another name', async () => {
        const [one, other] = [await newQuestion(), await newQuestion()];
        const place = world.approver.placeOf(one);
        expect(place).not.toBeNull();
        expect(world.approver.placeOf({ ...one, now: new Date(0) })).toBe(place);
        expect(world.approver.placeOf(other)).not.toBe(place);
      });

      rule(
        'wildcards',
        'that a name shares with its wildcard has one result, and none shared has two',
        async () => {
          const wildcard = await world.question('a', `*.${newName()}`);
          const plain = await world.question('a', baseName(wildcard.dnsName));
          const { approver } = world;
          expect(approver.placeOf(wildcard)).not.toBeNull();
          await Promise.all([check(wildcard), check(plain)]);
          await world.approve(wildcard);
          expect(await isApproved(wildcard)).toBe(true);
          const isShared = approver.placeOf(wildcard) === approver.placeOf(plain);
          expect(await isApproved(plain)).toBe(isShared);
        },
      );

      if (cannot.wildcards !== undefined)
        it(`is null for a wildcard: ${cannot.wildcards}`, async () => {
          expect(world.approver.placeOf(await world.question('a', `*.${newName()}`))).toBeNull();
        });

      rule('bare', 'is null when this way does not count for the name', async () => {
        const bare = { delegationLabel: null, parent: null, record: null, approverEmail: null };
        expect(world.approver.placeOf({ ...(await newQuestion()), ...bare })).toBeNull();
      });
    });

    for (const state of ['unreachable', 'silent'] as const)
      rule('outside', `does not approve and does not throw while its target is ${state}`, async () => {
        const question = await newQuestion();
        await world.approve(question);
        world.setOutside?.(state);
        const stopping = new AbortController();
        const checking = expectProblem(question, stopping.signal);
        if (state === 'silent') setImmediate(() => stopping.abort());
        await checking;
        world.setOutside?.('reachable');
        expect(await isApproved(question)).toBe(true);
      });

    rule(null, 'resolves when the time for the check was up before it began', async () => {
      const question = await newQuestion();
      await expectProblem(question, AbortSignal.abort());
    });

    rule('database', 'throws when our own database does not respond', async () => {
      const question = await newQuestion();
      const checking = world.withoutDatabase?.().check(question, AbortSignal.timeout(unhurriedMs));
      await expect(checking).rejects.toThrow();
    });
  });
}
