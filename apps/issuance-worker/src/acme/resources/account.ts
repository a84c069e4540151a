import { MemberReader } from '../members';
import { printable } from '../printable';

/** RFC 8555, section 7.1.2. */
export interface AcmeAccountState {
  readonly status: 'valid' | 'deactivated' | 'revoked';
  /** `mailto:` URLs; empty if the CA does not return them. */
  readonly contacts: readonly string[];
}

const maxContacts = 50;

export function readAccount(value: unknown): AcmeAccountState {
  const reader = MemberReader.of(value, 'the account');
  const contacts = reader.members['contact'] ?? [];
  const all = Array.isArray(contacts) ? contacts.slice(0, maxContacts) : reader.refuse('contact');
  return {
    status: reader.oneOf('status', ['valid', 'deactivated', 'revoked']),
    contacts: all.filter((contact) => typeof contact === 'string').map((contact) => printable(contact, 320)),
  };
}
