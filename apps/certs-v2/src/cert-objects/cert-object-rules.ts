import {
  canHaveApprovalRecord,
  isConstructedApproverAddress,
  isWildcard,
  maxLengthOfApprovedByDns,
  parseDnsName,
  quoteInput,
} from '@certwright/dns-names';
import type { Product } from '@certwright/issuance';
import { Refusal } from '../wire/reasons';
import { type CertObject, defaultSanOf, dnsNamesOf, type NameToApprove } from './cert-object';

/**
 * The names of an object and how each is approved, as far as product and name decide it.
 *
 * @throws Refusal for the first rule that is broken
 */
export function assertNamesFit(object: CertObject, product: Product): void {
  const { cn, sans } = object;
  if (sans?.some(({ value }) => value === cn)) {
    throw badSans(`The common name ${cn} is always in the certificate; leave it out of sans.`);
  }
  if (sans === null) assertDefaultSan(cn);
  const count = dnsNamesOf(object).length;
  if (count > product.maxDnsNames) {
    throw badSans(
      `A certificate of this type has ${product.maxDnsNames} names at most; it would have ${count}.`,
    );
  }
  // The added name is approved as the common name is, and by the same person.
  const approvedAlike = sans === null ? dnsNamesOf(object) : [cn];
  for (const name of approvedAlike) assertApprovable(name, object, product, parametersOfObject);
  for (const san of sans ?? []) assertApprovable(san.value, san, product, parametersOfSans);
}

/** Names of the invalid parameters. */
interface Parameters {
  readonly method: string;
  readonly address: string;
}

const parametersOfObject: Parameters = { method: 'approval_method', address: 'approver_email' };
const parametersOfSans: Parameters = { method: 'sans', address: 'sans' };

function assertDefaultSan(cn: string): void {
  const parsed = parseDnsName(defaultSanOf(cn));
  if (parsed.ok) return;
  throw badSans(
    `Default SANs would add a name that no certificate can have. ${parsed.message} Send sans as [].`,
  );
}

function assertApprovable(name: string, way: NameToApprove, product: Product, params: Parameters): void {
  const refused = (message: string) => new Refusal('bad_approval_method', message, { param: params.method });
  switch (way.approvalMethod) {
    case 'email':
      if (!product.emailApproval) throw refused('Certificates of this type are not approved by email.');
      assertApprover(name, way.approverEmail ?? '', params);
      return;
    case 'http':
      if (!product.httpApproval) throw refused('Certificates of this type are not approved by http.');
      // Baseline Requirements 3.2.2.4.18 and .19.
      if (isWildcard(name))
        throw refused(`http approves single names only, and never a wildcard as ${name}.`);
      return;
    case 'dns':
      if (!canHaveApprovalRecord(name)) {
        const max = `${maxLengthOfApprovedByDns} bytes without "*."`;
        throw refused(
          `${name} is longer than ${max}, the maximum for approval by dns. Choose another method.`,
        );
      }
  }
}

function assertApprover(name: string, address: string, params: Parameters): void {
  if (isConstructedApproverAddress(name, address)) return;
  const message =
    `${quoteInput(address)} may not approve ${name}: only admin, administrator, hostmaster, postmaster and webmaster ` +
    'may, at the name or at a parent down to its registered domain.';
  throw new Refusal('bad_approver_email', message, { param: params.address });
}

function badSans(message: string): Refusal {
  return new Refusal('bad_sans', message, { param: 'sans' });
}
