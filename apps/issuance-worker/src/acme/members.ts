import { notAcme } from './acme-fault';

/** A JSON object with members not validated yet. */
export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads members of a JSON object from the server; `what` names it in error messages: "the order". */
export class MemberReader {
  constructor(
    readonly members: Members,
    private readonly what: string,
  ) {}

  static of(value: unknown, what: string): MemberReader {
    if (!isMembers(value)) throw notAcme(`The ACME server's response is not ${what}.`);
    return new MemberReader(value, what);
  }

  /** Null when absent or null. */
  optionalText(name: string, maxCharacters = 4_096): string | null {
    const value = this.members[name] ?? null;
    if (value === null) return null;
    if (typeof value !== 'string' || value.length > maxCharacters) throw this.fault(name);
    return value;
  }

  text(name: string, maxCharacters?: number): string {
    return this.optionalText(name, maxCharacters) ?? this.refuse(name);
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const value = this.members[name];
    return allowed.find((candidate) => candidate === value) ?? this.refuse(name);
  }

  /** Null when absent. */
  optionalTime(name: string): Date | null {
    const text = this.optionalText(name, 64);
    return text === null ? null : (readRfc3339(text) ?? this.refuse(name));
  }

  list(name: string, atMost: number): readonly unknown[] {
    const value = this.members[name];
    if (!Array.isArray(value) || value.length > atMost) throw this.fault(name);
    return value;
  }

  boolean(name: string): boolean {
    const value = this.members[name] ?? false;
    if (typeof value !== 'boolean') throw this.fault(name);
    return value;
  }

  /** An identifier object of type dns (RFC 8555, section 9.7.7): the name in lower case. */
  dnsName(value: unknown, name: string): string {
    if (!isMembers(value) || value['type'] !== 'dns' || typeof value['value'] !== 'string')
      throw this.fault(name);
    const dnsName = value['value'].toLowerCase();
    if (!/^(\*\.)?[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63}){0,126}$/.test(dnsName) || dnsName.length > 255)
      throw this.fault(name);
    return dnsName;
  }

  refuse(name: string): never {
    throw this.fault(name);
  }

  private fault(name: string): Error {
    return notAcme(
      `In ${this.what}, as the ACME server sent it, ${name} is missing or not what it should be.`,
    );
  }
}

const timestamp = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339, section 5.6, the format of times in ACME; null for anything else. */
function readRfc3339(text: string): Date | null {
  if (!timestamp.test(text)) return null;
  const time = new Date(text.toUpperCase());
  return Number.isNaN(time.getTime()) ? null : time;
}
