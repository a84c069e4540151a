import type { Block, Letter, Part } from './letter';
import { cleaned, inSubject, isolated } from './quoted-text';

export function renderSubject({ subject }: Letter): string {
  return subject.map((part) => (typeof part === 'string' ? part : inSubject(part.quoted))).join('');
}

export function renderText({ blocks }: Letter): string {
  const text = (part: Part) => (typeof part === 'string' ? part : isolated(part.quoted));
  const render = (block: Block): string => {
    switch (block.kind) {
      case 'paragraph':
        return block.parts.map(text).join('');
      case 'list':
        return block.items.map((item) => `  - ${text(item)}`).join('\n');
      case 'link':
        return `${block.label}:\n${block.url}`;
    }
  };
  return `${blocks.map(render).join('\n\n')}\n`;
}

/** Nothing in it is loaded from anywhere, so opening it tells nobody anything. */
export function renderHtml(letter: Letter): string {
  const html = (part: Part) =>
    typeof part === 'string' ? escaped(part) : `<bdi><strong>${escaped(cleaned(part.quoted))}</strong></bdi>`;
  const render = (block: Block): string => {
    switch (block.kind) {
      case 'paragraph':
        return `<p>${block.parts.map(html).join('')}</p>`;
      case 'list':
        return `<ul>${block.items.map((item) => `<li>${html(item)}</li>`).join('')}</ul>`;
      case 'link':
        return `<p><a href="${escaped(block.url)}">${escaped(block.label)}</a><br>${escaped(block.url)}</p>`;
    }
  };
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escaped(renderSubject(letter))}</title></head>`,
    '<body style="font-family: sans-serif; max-width: 40em; line-height: 1.5">',
    ...letter.blocks.map(render),
    '</body></html>',
    '',
  ].join('\n');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
