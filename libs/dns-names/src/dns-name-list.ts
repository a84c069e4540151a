import { type DnsNameFaultCode, parseDnsName } from './dns-name';

export interface DnsNameListFault {
  /** Position in the list that was given. */
  readonly index: number;
  readonly input: unknown;
  readonly code: DnsNameFaultCode;
  /** Safe to show: repeats the input escaped and bounded. */
  readonly message: string;
}

export interface ParsedDnsNames {
  /** In the order given, each name once. */
  readonly names: readonly string[];
  readonly faults: readonly DnsNameListFault[];
}

/** Every entry is read, and every entry at fault is told. How many entries are too many is for the caller to say first. */
export function parseDnsNames(list: readonly unknown[]): ParsedDnsNames {
  const names = new Set<string>();
  const faults: DnsNameListFault[] = [];
  list.forEach((input, index) => {
    const parsed = parseDnsName(input);
    if (parsed.ok) names.add(parsed.name);
    else faults.push({ index, input, code: parsed.code, message: parsed.message });
  });
  return { names: [...names], faults };
}
