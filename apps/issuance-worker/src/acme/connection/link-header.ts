/** More than the chains of any CA. */
const maxLinks = 32;

const link = /<([^<>]*)>((?:\s*;\s*[^\s=;,]+\s*=\s*(?:"[^"]*"|[^\s";,]+))*)/g;
const relation = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s";,]+))/i;

/** Targets of the links with one relation (RFC 8288), unchanged, in order. */
export function linksOf(header: readonly string[], rel: string): readonly string[] {
  const targets: string[] = [];
  for (const [, target = '', parameters = ''] of header.flatMap((line) => [...line.matchAll(link)])) {
    const [, quoted, bare] = relation.exec(parameters) ?? [];
    if ((quoted ?? bare ?? '').toLowerCase().split(' ').includes(rel)) targets.push(target);
  }
  return targets.slice(0, maxLinks);
}
