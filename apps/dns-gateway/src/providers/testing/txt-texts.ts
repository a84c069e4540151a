import type { Inability } from './provider-world';

const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join('');
const text = (count: number): string =>
  printable
    .replace(/["\\ ]/g, '')
    .repeat(6)
    .slice(0, count);

/** Texts that every provider must store unchanged, with the limitation that excuses each. */
export const txtTexts: readonly (readonly [string, string, Inability | null])[] = [
  ['43 bytes', 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA', null],
  ['254 bytes', text(254), 'long_txt'],
  ['255 bytes', text(255), 'long_txt'],
  ['256 bytes', text(256), 'long_txt'],
  ['512 bytes', text(512), 'long_txt'],
  ['quotes', 'say "hello" and "', 'escapes'],
  ['a quote at both ends', '"quoted"', 'escapes'],
  ['backslashes', 'c:\\new\\065\\', 'escapes'],
  ['semicolons and spaces', 'v=X1; p=a  b; c', 'escapes'],
  ['all printable ASCII', printable.trim(), 'escapes'],
  ['a quote as the 256th byte', `${text(255)}"${text(20)}`, 'escapes'],
];
