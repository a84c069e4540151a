import { parseDnsName, quoteInput } from '@certwright/dns-names';
import type { StoredSan } from '@certwright/core-schema';
import { badParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import { approverFor, lowerCaseAddress, readApprovalMethod } from './approval-request';

/** A certificate has 100 names at most, whatever the product, and the common name is one of them. */
const mostSans = 99;

const param = 'sans';

/**
 * Reads SAN objects as callers write them, or send back what they have read: what is read-only in them, and what nobody
 * knows, is not looked at.
 *
 * @param value what JSON says: an array, or null for default SANs
 * @throws Refusal `bad_sans`, `bad_approval_method`, `bad_approver_email`, all on `sans`
 */
export function readSans(value: unknown): readonly StoredSan[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw badSans('must be null or an array of SAN objects.');
  if (value.length > mostSans) throw badSans(`are ${mostSans} at most; ${value.length} were sent.`);
  const sans = (value as unknown[]).map(readSan);
  const seen = new Set<string>();
  for (const san of sans) {
    if (seen.has(san.value)) throw badSans(`have ${san.value} more than once.`);
    seen.add(san.value);
  }
  return sans;
}

function readSan(san: unknown): StoredSan {
  if (typeof san !== 'object' || san === null || Array.isArray(san)) {
    throw badSans('must have objects as elements, with value and approval_method.');
  }
  const member = (name: string): unknown =>
    Object.hasOwn(san, name) ? (san as Readonly<Record<string, unknown>>)[name] : undefined;
  const type = member('type') ?? 'dns';
  if (type !== 'dns') throw badSans(`are of the type dns only, not ${quoteInput(type)}.`);
  const parsed = parseDnsName(member('value'));
  if (!parsed.ok) throw new Refusal('bad_sans', parsed.message, { param });
  const approvalMethod = readApprovalMethod(member('approval_method'), param);
  const address = approvalMethod === 'email' ? (member('approver_email') ?? null) : null;
  if (address !== null && typeof address !== 'string') {
    throw new Refusal('bad_approver_email', `The approver_email of ${parsed.name} must be a text.`, {
      param,
    });
  }
  const lowerCase = address === null ? null : lowerCaseAddress(address);
  return { value: parsed.name, approvalMethod, approverEmail: approverFor(approvalMethod, lowerCase, param) };
}

function badSans(what: string): Refusal {
  return badParam(param, 'bad_sans', what);
}
