import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ctSchema } from '@certwright/ct-schema';
import { coreSchema } from '@certwright/core-schema';
import { rolesTable } from './roles-table';

/** Without the spaces that align its columns. */
const cellsOf = (table: string) =>
  table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim().replace(/^-+$/, '---')));

it('is the table of docs/operating.md, as npm run migrate -- --roles prints it', () => {
  const document = readFileSync(path.join(__dirname, '../../docs/operating.md'), 'utf8');
  const [, section = ''] = document.split('\n### Roles\n');
  const [own = ''] = section.split('\n## ');
  expect(cellsOf(own)).toEqual(cellsOf(rolesTable()));
});

it('has a role for each app that npm start connects with one', () => {
  const { appsWithRoles } = jest.requireActual<{ readonly appsWithRoles: readonly string[] }>(
    '../up/database-roles.mjs',
  );
  const declared = new Set([coreSchema, ctSchema].flatMap(({ roles }) => Object.keys(roles)));
  expect([...appsWithRoles].sort()).toEqual([...declared].sort());
});
