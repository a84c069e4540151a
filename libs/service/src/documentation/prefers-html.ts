interface MediaRange {
  readonly type: string;
  /** RFC 9110, section 12.4.2: 0 means not acceptable. */
  readonly weight: number;
}

/**
 * Whether a client would rather have a page than JSON (RFC 9110, section 12.5.1). Browsers name `text/html`; a program that
 * names neither, or both with the same weight, gets JSON.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map(mediaRange);
  return weightOf('text/html', ranges) > weightOf('application/json', ranges);
}

function mediaRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, weight: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0 };
}

/** The most specific range that matches decides. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  for (const range of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const match = ranges.find((each) => each.type === range);
    if (match !== undefined) return match.weight;
  }
  return 0;
}
