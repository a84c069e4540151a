import { type Caa, recordsOfType } from '@certwright/dns-authority';
import type { LookUp } from '../look-up';
import type { LookUpFailure } from '@certwright/dns-names';

export type CaaFinding =
  /** The nearest records at or above the name; empty when there are none up to the top. */
  | { readonly known: true; readonly at: string; readonly records: readonly Caa[] }
  /** Unknown: issuance is forbidden (Baseline Requirements, section 3.2.2.8). */
  | {
      readonly known: false;
      readonly at: string;
      readonly failure: LookUpFailure;
      readonly server: string;
    };

/**
 * The relevant record set of a name: its own, else its parent's and so on, without the root (RFC 8659, section 3).
 * The resolver follows a CNAME; the climb continues from the name itself, never from the alias's target.
 *
 * @param name without `*.`
 */
export async function relevantCaa(lookUp: LookUp, name: string, signal?: AbortSignal): Promise<CaaFinding> {
  for (let at = name; at !== ''; at = parentOf(at)) {
    const result = await lookUp(at, 'CAA', signal === undefined ? {} : { signal });
    if (result.kind === 'failure') {
      return { known: false, at, failure: result.reason, server: result.from };
    }
    const records = result.kind === 'records' ? recordsOfType(result.answers, 'CAA') : [];
    if (records.length > 0) return { known: true, at, records: records.map(({ data }) => data) };
  }
  return { known: true, at: name, records: [] };
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}
