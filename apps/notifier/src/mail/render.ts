import type { Block, Letter, Part, Table } from './letter';
import { cleaned, inSubject, isolated } from './quoted-text';
import { textTable } from './text-table';

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
        return block.items.map((item) => `  - ${item.map(text).join('')}`).join('\n');
      case 'link':
        return `${block.label}:\n${block.url}`;
      case 'table':
        return textTable(
          block.columns,
          block.rows.map((row) => row.map(text)),
        );
    }
  };
  return `${blocks.map(render).join('\n\n')}\n`;
}

/** Loads no external resources, so opening the mail reveals nothing. */
export function renderHtml(letter: Letter): string {
  const render = (block: Block): string => {
    switch (block.kind) {
      case 'paragraph':
        return `<p>${block.parts.map(html).join('')}</p>`;
      case 'list':
        return `<ul>${block.items.map((item) => `<li>${item.map(html).join('')}</li>`).join('')}</ul>`;
      case 'link':
        return `<p><a href="${escaped(block.url)}">${escaped(block.label)}</a><br>${escaped(block.url)}</p>`;
      case 'table':
        return htmlTable(block);
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

const html = (part: Part): string =>
  typeof part === 'string' ? escaped(part) : `<bdi><strong>${escaped(cleaned(part.quoted))}</strong></bdi>`;

/** Style is set on each cell: mail programs drop it elsewhere. */
function htmlTable({ columns, rows }: Table): string {
  const cell = (name: 'th' | 'td', content: string, at: number) =>
    `<${name} style="padding: .2em .6em; text-align: ${columns[at]?.align ?? 'start'}">${content}</${name}>`;
  const row = (name: 'th' | 'td', contents: readonly string[]) =>
    `<tr>${contents.map((content, at) => cell(name, content, at)).join('')}</tr>`;
  const head = row(
    'th',
    columns.map(({ heading }) => escaped(heading)),
  );
  const body = rows.map((parts) => row('td', parts.map(html))).join('');
  return `<table style="border-collapse: collapse"><thead>${head}</thead><tbody>${body}</tbody></table>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
