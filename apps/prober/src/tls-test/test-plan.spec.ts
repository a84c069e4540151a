import { maxInAll, maxPerHost, testPlan } from './test-plan';

const found = (host: string, count: number) => ({
  host,
  addresses: Array.from({ length: count }, (_, at) => `${host}/${at}`),
  problem: null,
});

describe('the plan of a test', () => {
  it('goes through all addresses when they are few, the first one of each host first', () => {
    const { toTest, known } = testPlan([found('a', 2), found('b', 1), found('c', 3)]);
    expect(toTest.map(({ address }) => address)).toEqual(['a/0', 'b/0', 'c/0', 'a/1', 'c/1', 'c/2']);
    expect(known).toEqual([]);
  });

  it('reports a host that is not found', () => {
    const problem = { status: 'connect_error', problem: 'no such name' } as const;
    const { toTest, known } = testPlan([{ host: 'a', addresses: [], problem }, found('b', 1)]);
    expect(toTest).toEqual([{ host: 'b', address: 'b/0' }]);
    expect(known).toEqual([{ host: 'a', address: '', ...problem }]);
  });

  it(`takes ${maxPerHost} addresses of a host, and says that there are more`, () => {
    expect(testPlan([found('a', maxPerHost)]).known).toEqual([]);
    const { toTest, known } = testPlan([found('a', maxPerHost + 3)]);
    expect(toTest).toHaveLength(maxPerHost);
    expect(known).toEqual([
      {
        host: 'a',
        address: `a/${maxPerHost}`,
        status: 'internal_error',
        problem:
          'This address and 2 more of the host were not tested: no more than 16 addresses of a host are.',
      },
    ]);
  });

  it(`takes ${maxInAll} addresses in all, of each host its share, and every host that is cut says so`, () => {
    const hosts = Array.from({ length: 100 }, (_, at) => found(`h${at}`, at === 0 ? 3 : 1));
    const { toTest, known } = testPlan(hosts);
    expect(toTest.map(({ host }) => host)).toEqual(Array.from({ length: maxInAll }, (_, at) => `h${at}`));
    expect(known).toHaveLength(1 + 100 - maxInAll);
    expect(known[0]).toMatchObject({ host: 'h0', address: 'h0/1' });
    expect(known[0]?.problem).toMatch(/^This address and 1 more of the host were not tested: .*64 addresses/);
    expect(known.at(-1)?.problem).toMatch(/^This address was not tested/);
  });
});
