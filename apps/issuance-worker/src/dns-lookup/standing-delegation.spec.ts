import { neutralMessage } from '@certwright/outcome-messages';
import { type LookUpResult, type LookUp, type ReceivedRecord } from '@certwright/dns-lookup';
import { findStandingDelegation } from './standing-delegation';

const NAME = '_acme-challenge.www.example.com';
const TARGET = 's3cret.approval.example.net';
const AT = '127.0.0.1:4353';

type Said = {
  [K in LookUpResult['kind']]: Omit<Extract<LookUpResult, { kind: K }>, 'from'>;
}[LookUpResult['kind']];

const cname = (name: string, data: string): ReceivedRecord => ({ name, type: 'CNAME', ttl: 5, data });
const ns = (name: string, data: string): ReceivedRecord => ({ name, type: 'NS', ttl: 5, data });
const answers = (...records: ReceivedRecord[]): Said => ({
  kind: 'records',
  answers: records,
  authority: [],
});
const referral = (...records: ReceivedRecord[]): Said => ({
  kind: 'records',
  answers: [],
  authority: records,
});
const nodata: Said = { kind: 'nodata' };
const nxdomain: Said = { kind: 'nxdomain' };

/** Looks up names in a table of DNS records; any other name is NXDOMAIN. */
async function find(said: Readonly<Record<string, Said>>, wanted = { recordName: NAME, target: TARGET }) {
  const queried: string[] = [];
  const lookUp: LookUp = async (name, type) => {
    queried.push(`${name} ${type}`);
    return { from: AT, ...(said[`${name} ${type}`] ?? nxdomain) } as LookUpResult;
  };
  const finding = await findStandingDelegation(lookUp, wanted);
  if (finding.found) return { finding, queried };
  return { finding: { ...finding, problem: neutralMessage(finding.problem) }, queried };
}

const notFound = (problem: string, retryable = false) => ({
  found: false,
  problem: `${problem}.`,
  retryable,
});
const elsewhere = (problem: string) => ({ ...notFound(problem), delegatedElsewhere: true });

describe('a CNAME', () => {
  it('to the target is the standing delegation', async () => {
    const { finding, queried } = await find({ [`${NAME} CNAME`]: answers(cname(NAME, TARGET)) });
    expect(finding).toEqual({ found: true, by: 'cname' });
    expect(queried).toEqual([`${NAME} CNAME`]);
  });

  it('is compared without regard to case and trailing dots', async () => {
    const said = { [`${NAME} CNAME`]: answers(cname(NAME.toUpperCase(), `S3CRET.Approval.example.NET.`)) };
    const { finding } = await find(said, { recordName: `${NAME.toUpperCase()}.`, target: `${TARGET}.` });
    expect(finding).toEqual({ found: true, by: 'cname' });
  });

  it('is followed through other names', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: answers(cname(NAME, 'a.example.org')),
      'a.example.org CNAME': answers(cname('a.example.org', TARGET)),
    });
    expect(finding).toEqual({ found: true, by: 'cname' });
  });

  it('to another name is not, and that name is reported', async () => {
    const { finding } = await find({ [`${NAME} CNAME`]: answers(cname(NAME, 'other.example.org')) });
    expect(finding).toEqual(notFound(`${NAME} is a CNAME to other.example.org, not to ${TARGET}`));
  });

  it('to another name that cannot be looked up reports both', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: answers(cname(NAME, 'other.example.org')),
      'other.example.org CNAME': { kind: 'failure', reason: 'refused' },
    });
    expect(finding).toEqual(
      notFound(
        `${NAME} is a CNAME to other.example.org, not to ${TARGET}; ` +
          `other.example.org could not be looked up at ${AT} (REFUSED)`,
      ),
    );
  });

  it('to a name below or beside the target is not', async () => {
    for (const near of [`x.${TARGET}`, 'other.approval.example.net', 'approval.example.net']) {
      const { finding } = await find({ [`${NAME} CNAME`]: answers(cname(NAME, near)) });
      expect(finding.found).toBe(false);
    }
  });

  it('of another owner in the response does not count', async () => {
    const { finding } = await find({ [`${NAME} CNAME`]: answers(cname('www.example.com', TARGET)) });
    expect(finding).toEqual(notFound(`${NAME} has no CNAME and no NS record at ${AT}; add one to ${TARGET}`));
  });

  it('is not accepted when there are several', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: answers(cname(NAME, TARGET), cname(NAME, 'other.example.org')),
    });
    expect(finding).toEqual(
      notFound(
        `${NAME} has several CNAME records at ${AT} (${TARGET}, other.example.org); a name may have one`,
      ),
    );
  });

  it('that loops ends', async () => {
    const { finding, queried } = await find({
      [`${NAME} CNAME`]: answers(cname(NAME, 'a.example.org')),
      'a.example.org CNAME': answers(cname('a.example.org', NAME)),
    });
    expect(finding).toEqual(notFound(`the CNAME records of ${NAME} at ${AT} lead in a circle, over ${NAME}`));
    expect(queried).toHaveLength(2);
  });

  it.each([
    [8, true],
    [9, false],
  ])('chain of %i records: found is %p', async (length, found) => {
    const names = [NAME, ...Array.from({ length: length - 1 }, (_, n) => `c${n}.example.org`), TARGET];
    const said = Object.fromEntries(
      names.slice(0, -1).map((name, n) => [`${name} CNAME`, answers(cname(name, names[n + 1] ?? ''))]),
    );
    const { finding, queried } = await find(said);
    expect(finding.found).toBe(found);
    expect(queried.length).toBeLessThanOrEqual(8);
  });
});

describe('no CNAME', () => {
  it('and no such name is reported as NXDOMAIN', async () => {
    const { finding, queried } = await find({});
    expect(finding).toEqual(
      notFound(`${NAME} has no CNAME record at ${AT} (NXDOMAIN); add one to ${TARGET}`),
    );
    expect(queried).toEqual([`${NAME} CNAME`]);
  });

  it('and no NS', async () => {
    const { finding } = await find({ [`${NAME} CNAME`]: nodata, [`${NAME} NS`]: nodata });
    expect(finding).toEqual(notFound(`${NAME} has no CNAME and no NS record at ${AT}; add one to ${TARGET}`));
  });
});

describe('an NS', () => {
  it.each([
    ['in the answer section', nodata, answers(ns(NAME, TARGET))],
    ['in a referral', referral(ns(NAME, TARGET)), referral(ns(NAME, TARGET))],
    ['in other letters', nodata, answers(ns(`${NAME}.`, TARGET.toUpperCase()))],
  ])('%s is the standing delegation', async (_, forCname, forNs) => {
    const { finding } = await find({ [`${NAME} CNAME`]: forCname, [`${NAME} NS`]: forNs });
    expect(finding).toEqual({ found: true, by: 'ns' });
  });

  it('of a parent of the record name does not count', async () => {
    const above = referral(ns('www.example.com', TARGET));
    const { finding } = await find({ [`${NAME} CNAME`]: above, [`${NAME} NS`]: above });
    expect(finding).toEqual(notFound(`${NAME} has no CNAME and no NS record at ${AT}; add one to ${TARGET}`));
  });

  it('to another server is not', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: nodata,
      [`${NAME} NS`]: answers(
        ...['a', 'b', 'c', 'd', 'e'].map((letter) => ns(NAME, `${letter}.example.org`)),
      ),
    });
    expect(finding).toEqual(
      elsewhere(
        `${NAME} is delegated (NS) to a.example.org, b.example.org, c.example.org and 2 more at ${AT}, not to ${TARGET}`,
      ),
    );
  });

  it('beside another one is not: that server could serve the name too', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: nodata,
      [`${NAME} NS`]: answers(ns(NAME, TARGET), ns(NAME, 'b.example.org')),
    });
    expect(finding).toEqual(
      elsewhere(`${NAME} is delegated (NS) to ${TARGET} at ${AT}, but to b.example.org as well`),
    );
  });
});

describe('a look-up that fails', () => {
  it.each([
    ['timeout', 'no response in time', true],
    ['unreachable', 'nothing responds at its address', true],
    ['servfail', 'SERVFAIL', true],
    ['refused', 'REFUSED', false],
    ['invalid_name', 'not a name that can be looked up', false],
  ] as const)('%s is reported, with whether to retry soon', async (reason, words, retryable) => {
    const { finding } = await find({ [`${NAME} CNAME`]: { kind: 'failure', reason } });
    expect(finding).toEqual(notFound(`${NAME} could not be looked up at ${AT} (${words})`, retryable));
  });

  it('while querying NS is reported too', async () => {
    const { finding } = await find({
      [`${NAME} CNAME`]: nodata,
      [`${NAME} NS`]: { kind: 'failure', reason: 'servfail' },
    });
    expect(finding).toEqual(notFound(`${NAME} could not be looked up at ${AT} (SERVFAIL)`, true));
  });
});
