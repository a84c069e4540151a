import { ctSchema } from '@certwright/ct-schema';
import { coreSchema } from '@certwright/core-schema';
import { type GrantedSchema, type RoleGrants, roleOf, type TableGrants } from '@certwright/postgres';

/** The grants of every role, for docs/operating.md. */
export function rolesTable(): string {
  const rows = [coreSchema, ctSchema].flatMap(({ name, roles }: GrantedSchema) =>
    Object.entries(roles).map(([process, grants]) => [
      code(roleOf('certwright_', process)),
      name,
      reads(grants) || '–',
      writes(grants) || '–',
      calls(grants) || '–',
    ]),
  );
  const header = ['role', 'database', 'reads', 'writes', 'calls'];
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const code = (text: string) => `\`${text}\``;

const reads = ({ tables }: RoleGrants) =>
  Object.entries(tables)
    .filter(([, { select = '' }]) => select.length > 0)
    .map(([table, { select }]) => code(table) + (select === '*' ? '' : '°'))
    .join(', ');

const writes = ({ tables }: RoleGrants) =>
  Object.entries(tables)
    .map(([table, grants]) => [table, writesOf(grants)] as const)
    .filter(([, how]) => how !== '')
    .map(([table, how]) => `${code(table)} ${how}`)
    .join(', ');

const writesOf = ({ insert = '', update = '', delete: deletes }: TableGrants) =>
  [insert.length > 0 && 'I', update.length > 0 && 'U', deletes && 'D'].filter(Boolean).join('');

const calls = ({ functions = [], temporaryTables }: RoleGrants) =>
  [
    ...functions.map((signature) => code(signature.replace(/\(.*/, ''))),
    ...(temporaryTables ? ['temporary tables'] : []),
  ].join(', ');
