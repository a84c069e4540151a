import { columnNames, privilegesOf, type RoleGrants } from '@certwright/postgres';
import type { Probe } from './probe';
import type { ProbedStatements } from './probed-statements';

/** @returns problems of the grants of a role that ran exactly these statements, one line each */
export async function checkRole(
  probe: Probe,
  role: string,
  grants: RoleGrants,
  { statements: probed, usesTemporaryTables }: ProbedStatements,
): Promise<string[]> {
  const unexplained = await probe.unexplained(probed);
  const statements = probed.filter((statement) => !unexplained.has(statement));
  const faults = [...unexplained].map(
    ([statement, problem]) => `a statement cannot be explained (${problem}): ${inOneLine(statement)}`,
  );
  for (const statement of await probe.refused(role, statements))
    faults.push(`a grant is missing for: ${inOneLine(statement)}`);
  for (const [privilege, mentioned] of await privilegesToProbe(probe, grants)) {
    if (!(await probe.needs(role, privilege, statementsOf(statements, mentioned))))
      faults.push(`no statement needs ${privilege[0]}`);
  }
  // A plan is explained without the privilege on a sequence: that is checked when it is used.
  for (const sequence of grants.sequences ?? [])
    if (!statements.some((statement) => usesSequence(statement, sequence)))
      faults.push(`no statement needs USAGE ON SEQUENCE ${sequence}`);
  if ((grants.temporaryTables ?? false) !== usesTemporaryTables)
    faults.push(usesTemporaryTables ? 'temporaryTables is missing' : 'no statement needs temporaryTables');
  return faults;
}

const inOneLine = (statement: string) => statement.replaceAll(/\s+/g, ' ');

/** Each grant with those of its partitions, and the keywords in statements that need it. */
async function privilegesToProbe(
  probe: Probe,
  { tables, functions = [] }: RoleGrants,
): Promise<(readonly [readonly string[], readonly string[]])[]> {
  const partitions = await probe.partitions();
  const ofTables = Object.entries(tables).flatMap(([table, { delete: deletes, ...columns }]) => {
    const of = (grants: RoleGrants['tables'][string], ...keywords: string[]) =>
      [
        [table, ...(partitions.get(table) ?? [])].flatMap((name) =>
          privilegesOf({ tables: { [name]: grants } }),
        ),
        [table, ...keywords],
      ] as const;
    const each = Object.entries(columns).flatMap(
      ([kind, listed]) =>
        columnNames(listed)?.map((column) => of({ [kind]: column }, column)) ?? [of({ [kind]: '*' })],
    );
    return deletes ? [...each, of({ delete: true })] : each;
  });
  const ofFunctions = functions.map(
    (signature) =>
      [privilegesOf({ tables: {}, functions: [signature] }), [signature.replace(/\(.*/, '')]] as const,
  );
  return [...ofTables, ...ofFunctions];
}

/** `nextval('plan_id_seq')`, or by the column: `nextval(pg_get_serial_sequence('plan', 'id'))`. */
function usesSequence(statement: string, sequence: string): boolean {
  const table = sequence.replace(/_[a-z]+_seq$/, '');
  return (
    statement.includes('nextval(') &&
    (statement.includes(`'${sequence}'`) || statement.includes(`'${table}'`))
  );
}

/**
 * First statements that contain every word; then, for `*`, row locks and defaults, which do not name columns, those with
 * the first word; then the others, which may call a function in a column default.
 */
function statementsOf(
  statements: readonly string[],
  [first = '', ...others]: readonly string[],
): readonly string[] {
  const named = statements.filter((statement) => statement.includes(first));
  const exact = named.filter((statement) => others.every((word) => statement.includes(word)));
  return [...new Set([...exact, ...named, ...statements])];
}
