/** What an API key may be allowed to do: a closed list, in the words that the account's owner reads. */
export const permissions = [
  'Full Access',
  'Order and Manage Certificates',
  'Manage Monitored Domains',
  'Search Certificates',
] as const;

export type Permission = (typeof permissions)[number];

/** @param held as stored; a word outside the list grants nothing */
export function isAllowed(held: readonly string[], anyOf: readonly Permission[]): boolean {
  return held.includes('Full Access') || anyOf.some((permission) => held.includes(permission));
}
