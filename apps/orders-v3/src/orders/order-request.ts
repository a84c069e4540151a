import { parseDnsName, parseDnsNames, quoteInput } from '@certwright/dns-names';
import type { FieldFault } from '@certwright/errors';
import type { KeyType } from '@certwright/issuance';
import { type Csr, decodeCsrField, readCsr } from '@certwright/pki';
import { csrFaults } from '../wire/outcome-messages';
import { isObject, readObject, unknownMembers } from '../wire/object-members';
import { orderMembers, readOnlyOrderMembers } from './order-members';
import type { Order, OrderCsr } from './order';
import { orderNameFault } from './order-name';
import type { OrderFault, OrderReading } from './order-rules';

/** An order may have 100 names at most; whoever repeats them more than tenfold is not answered name by name. */
const mostEntries = 1_000;

const knownMembers: ReadonlySet<string> = new Set([...Object.values(orderMembers), ...readOnlyOrderMembers]);

export interface OrderRequest extends OrderReading {
  readonly unknownMembers: readonly FieldFault[];
}

/**
 * Reads the body of a POST: every member by itself, types and syntax. What members mean together is for `order-rules.ts`.
 *
 * @throws Problem `bad_request` when the body is no object
 */
export function readOrderRequest(sent: unknown): OrderRequest {
  const body = readObject(sent, 'an order');
  const wishes: Partial<Record<keyof Order, unknown>> = {};
  const faults: OrderFault[] = [];
  let csr: Csr | null = null;
  for (const member of Object.keys(orderMembers) as (keyof Order)[]) {
    if (!Object.hasOwn(body, orderMembers[member])) continue;
    const reading: Reading<unknown> = readers[member](body[orderMembers[member]]);
    if ('faults' in reading) {
      faults.push(...reading.faults.map((fault) => ({ member, ...fault })));
      continue;
    }
    wishes[member] = reading.value;
    csr = reading.csr ?? csr;
  }
  return {
    wishes: wishes as OrderReading['wishes'],
    csr,
    faults,
    unknownMembers: unknownMembers(body, knownMembers, 'An order'),
  };
}

type Fault = Omit<OrderFault, 'member'>;
type Reading<T> = Read<T> | { readonly faults: readonly Fault[] };
interface Read<T> {
  readonly value: T;
  /** Of the member `csr`: what was read besides. */
  readonly csr?: Csr;
}

const readers: { readonly [M in keyof Order]: (value: unknown) => Reading<Order[M]> } = {
  name: readName,
  dnsNames: readDnsNames,
  approverEmails: readApproverEmails,
  cluster: (value) =>
    value === null || typeof value === 'string' ? { value } : invalid('must be a string or null'),
  autoRenew: readBoolean,
  muted: readBoolean,
  paused: readBoolean,
  product: (value) => (typeof value === 'string' ? { value } : invalid('must be a string')),
  keyType: readKeyType,
  csr: readCsrMember,
};

function readName(value: unknown): Reading<string> {
  if (typeof value !== 'string') return invalid('must be a string');
  const fault = orderNameFault(value);
  return fault === null ? { value } : { faults: [{ code: 'invalid_value', message: `The name ${fault}.` }] };
}

function readDnsNames(value: unknown): Reading<readonly string[]> {
  if (!Array.isArray(value)) return invalid('must be an array of strings');
  if (value.length === 0) return invalid('must have at least one entry');
  if (value.length > mostEntries) {
    const message = `An order has 100 DNS names at most; ${value.length} entries were sent.`;
    return { faults: [{ code: 'too_many_names', message }] };
  }
  const { names, faults } = parseDnsNames(value);
  if (faults.length === 0) return { value: names };
  return {
    faults: faults.map(({ input, code, message }) =>
      typeof input === 'string'
        ? { code, message }
        : { code: 'invalid_value', message: 'Each entry must be a string.' },
    ),
  };
}

function readApproverEmails(value: unknown): Reading<Order['approverEmails']> {
  if (!isObject(value)) return invalid('must be an object that maps DNS names to addresses');
  const entries = Object.entries(value);
  if (entries.length > mostEntries)
    return invalid(`has ${entries.length} members; an order has 100 DNS names at most`);
  const addresses = new Map<string, string>();
  const faults: Fault[] = [];
  for (const [key, address] of entries) {
    const parsed = parseDnsName(key);
    if (!parsed.ok) {
      faults.push({
        code: 'invalid_approver',
        message: `${quoteInput(key)} is not one of the order's DNS names.`,
      });
    } else if (typeof address !== 'string') {
      faults.push({ code: 'invalid_value', message: `The address of ${parsed.name} must be a string.` });
    } else if ((addresses.get(parsed.name) ?? lowerCase(address)) !== lowerCase(address)) {
      faults.push({
        code: 'invalid_value',
        message: `${parsed.name} stands there twice, with different addresses.`,
      });
    } else {
      addresses.set(parsed.name, lowerCase(address));
    }
  }
  return faults.length === 0 ? { value: Object.fromEntries(addresses) } : { faults };
}

/** ASCII alone: other characters fold to ASCII letters (U+212A to k). */
function lowerCase(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function readBoolean(value: unknown): Reading<boolean> {
  return typeof value === 'boolean' ? { value } : invalid('must be true or false');
}

function readKeyType(value: unknown): Reading<KeyType> {
  return value === 'rsa' || value === 'ecdsa' ? { value } : invalid('must be "rsa" or "ecdsa"');
}

function readCsrMember(value: unknown): Reading<OrderCsr | null> {
  if (value === null) return { value: null };
  if (typeof value !== 'string') return invalid('must be a string or null');
  const decoded = decodeCsrField(value);
  if (!decoded.ok) return { faults: csrFaults(decoded.faults) };
  const read = readCsr(decoded.der);
  if (!read.ok) return { faults: csrFaults(read.faults) };
  const { csr } = read;
  return { value: { der: decoded.der, spkiSha256: Buffer.from(csr.spkiSha256, 'hex') }, csr };
}

/** @param rule what would be right, in words that follow "it" */
function invalid(rule: string): { readonly faults: readonly Fault[] } {
  return { faults: [{ code: 'invalid_value', message: `It ${rule}.` }] };
}
