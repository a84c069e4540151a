import { AccountDomains, none } from './account-domains';

function accountsAt(domains: AccountDomains, node: number): number[] {
  const accounts: number[] = [];
  for (let entry = domains.first(node); entry !== none; entry = domains.next(entry)) {
    expect([domains.nodeOf(entry), domains.find(node, domains.accountOf(entry))]).toEqual([node, entry]);
    accounts.push(domains.accountOf(entry));
  }
  return accounts.sort((one, other) => one - other);
}

it('lists the accounts of each node, whatever the order in which they are removed', () => {
  const domains = new AccountDomains();
  const expected = [1, 2, 3].map(() => new Set<number>());
  let maxEntry = 0;
  for (let step = 0; step < 3_000; step += 1) {
    const [at, account] = [step % 3, ((step * step) % 1_009) % 23];
    const accounts = expected[at] ?? new Set();
    const isRemoved = accounts.delete(account);
    if (!isRemoved) accounts.add(account);
    domains.set(at + 1, account, isRemoved ? 0 : 1);
    maxEntry = Math.max(maxEntry, domains.find(at + 1, account));
    expect(accountsAt(domains, at + 1)).toEqual([...accounts].sort((one, other) => one - other));
  }
  // Released entries are used again.
  expect(maxEntry).toBeLessThanOrEqual(3 * 23);
});
