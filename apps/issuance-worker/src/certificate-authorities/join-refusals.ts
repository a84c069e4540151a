import type { IssuanceError } from '@certwright/issuance';
import type { Refusal, Submitted } from './certificate-authority';

/**
 * What becomes of an issuance that every CA of its product refused. It waits for a limit only when nothing else can help
 * sooner: a CA that is away may be back in a minute.
 */
export function joinRefusals(refusals: readonly Refusal[]): Extract<Submitted, { readonly kind: 'refused' }> {
  const [first, ...others] = refusals;
  if (first === undefined) throw new Error('nobody refused');
  if (others.length === 0) {
    const { error, until, final } = first;
    return { kind: 'refused', error, until, final };
  }
  const away = refusals.find(({ error }) => error.code === 'ca_unavailable');
  const limited = refusals.filter((refusal): refusal is Limited => refusal.until !== null).sort(sooner)[0];
  const open = refusals.find(({ final }) => !final);
  const decisive = away ?? limited ?? open ?? first;
  const message = refusals.map(({ authority, error }) => `${authority}: ${error.message}`).join(' ');
  const error: IssuanceError = { code: decisive.error.code, message };
  return { kind: 'refused', error, until: decisive.until, final: open === undefined };
}

type Limited = Refusal & { readonly until: Date };

const sooner = (one: Limited, other: Limited) => one.until.getTime() - other.until.getTime();
