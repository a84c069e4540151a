import { type AcmeProblemType, acmeProblemTypes } from '@certwright/issuance';
import { isMembers, type Members } from './members';
import { printable } from './printable';

/** A problem document (RFC 9457, RFC 8555 section 6.7). Every text in it is bounded and printable. */
export interface AcmeProblem {
  /** `other`: not a type that ACME defines. */
  readonly type: AcmeProblemType | 'other';
  /** HTTP status of the response; inside another object, the document's `status`. */
  readonly status: number | null;
  readonly detail: string;
  /** A page for a person, with `userActionRequired`. */
  readonly instance: string | null;
  /** The affected name; only in subproblems. */
  readonly dnsName: string | null;
  readonly subproblems: readonly AcmeProblem[];
}

const urn = 'urn:ietf:params:acme:error:';
const known: ReadonlySet<string> = new Set(acmeProblemTypes);

/** An order has at most a hundred names, and each at most one subproblem. */
const maxSubproblems = 200;

/** Null for anything but a problem document; `type` is the only member that ACME requires. */
export function readProblem(value: unknown, status: number | null): AcmeProblem | null {
  if (!isMembers(value) || typeof value['type'] !== 'string') return null;
  const subproblems = Array.isArray(value['subproblems'])
    ? value['subproblems'].slice(0, maxSubproblems)
    : [];
  return {
    ...readOne(value, status),
    subproblems: subproblems.filter(isMembers).map((sub) => ({ ...readOne(sub, null), subproblems: [] })),
  };
}

function readOne(value: Members, status: number | null): Omit<AcmeProblem, 'subproblems'> {
  const { type, detail, title, instance, identifier } = value;
  const said = [detail, title].find((text) => typeof text === 'string' && text !== '');
  return {
    type: typeOf(type),
    status: status ?? statusOf(value['status']),
    detail: typeof said === 'string' ? printable(said) : '',
    instance: typeof instance === 'string' ? printable(instance) : null,
    dnsName: isMembers(identifier) && identifier['type'] === 'dns' ? nameOf(identifier['value']) : null,
  };
}

function typeOf(value: unknown): AcmeProblem['type'] {
  if (typeof value !== 'string' || !value.startsWith(urn)) return 'other';
  const name = value.slice(urn.length);
  return known.has(name) ? (name as AcmeProblemType) : 'other';
}

function statusOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600 ? value : null;
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' ? printable(value.toLowerCase(), 255) : null;
}

/** The problem on one line: type, detail, and each subproblem with its name. */
export function problemText(problem: AcmeProblem): string {
  const names = problem.subproblems.map(({ dnsName, detail }) => `${dnsName ?? 'a name'}: ${detail}`);
  return printable([`${problem.type}: ${problem.detail}`, ...names].join('; '), 1_000);
}
