import { createHash } from 'node:crypto';
import { Html } from './html';

/** A style that stands in the page itself, and what a content security policy calls it. */
export interface InlineStyle {
  /** `<style>…</style>`: to be put in whole, since every character between the tags is part of the digest. */
  readonly element: Html;
  /** For `style-src` (CSP Level 3, section 2.3.1). */
  readonly source: string;
}

/** @param css of our own; it must not hold `</style` */
export function inlineStyle(css: string): InlineStyle {
  const digest = createHash('sha256').update(css).digest('base64');
  return { element: new Html(`<style>${css}</style>`), source: `'sha256-${digest}'` };
}
