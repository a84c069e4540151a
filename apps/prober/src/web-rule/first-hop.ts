import { isWildcard, parseDnsName } from '@certwright/dns-names';

export type FirstHop =
  { readonly ok: true; readonly url: string } | { readonly ok: false; readonly problem: string };

/** Visible ASCII; a fragment is never sent. */
const pathForm = /^\/(?!\/)[\x21\x22\x24-\x7e]{0,1023}$/;

/** Start of a probe: http, as every CA does (Baseline Requirements §3.2.2.4.18). Reads a question from any value. */
export function firstHop(question: unknown, httpPort: number): FirstHop {
  const { dnsName, path } = (question ?? {}) as { readonly dnsName?: unknown; readonly path?: unknown };
  const parsed = parseDnsName(dnsName);
  if (!parsed.ok) return { ok: false, problem: parsed.message };
  if (isWildcard(parsed.name)) {
    return {
      ok: false,
      problem: `${parsed.name} is a wildcard: a web server can approve single names only.`,
    };
  }
  if (typeof path !== 'string' || !pathForm.test(path)) {
    return { ok: false, problem: 'The path to look at is not valid.' };
  }
  return { ok: true, url: `http://${parsed.name}${httpPort === 80 ? '' : `:${httpPort}`}${path}` };
}
