/** A statement of one row that may be asked for many at once: most of what a small one costs is its way. */
export interface BatchedStatement {
  /** For one, with its parameters. */
  readonly one: string;
  /** For many, in their order; each parameter is an array of what one would have, arrays within it as texts. */
  readonly many: string;
}

/** @param columns name and type of each parameter, in order */
function batched(
  call: string,
  columns: readonly (readonly [name: string, type: string])[],
): BatchedStatement {
  const parameters = columns.map((_, nth) => `$${nth + 1}`);
  const sent = columns.map(([, type], nth) => `$${nth + 1}::${type.endsWith('[]') ? 'text' : type}[]`);
  const names = columns.map(([name]) => name);
  const cast = columns.map(([name, type]) => (type.endsWith('[]') ? `${name}::${type}` : name));
  return {
    one: `SELECT ${call}(${parameters.join(', ')}) AS packed`,
    many: `SELECT ${call}(${cast.join(', ')}) AS packed
      FROM unnest(${sent.join(', ')}) WITH ORDINALITY AS asked (${names.join(', ')}, nth) ORDER BY nth`,
  };
}

export const findPostings = batched('ct_find_postings', [
  ['after', 'bigint'],
  ['shards', 'smallint[]'],
  ['keys', 'bigint[]'],
  ['most_runs', 'integer'],
  ['following', 'integer'],
]);

export const packIssuances = batched('ct_pack_issuances', [
  ['positions', 'bigint[]'],
  ['with_expired', 'boolean'],
]);

/** The parameters of `many`. @param asked those of each one */
export function parametersOfMany(asked: readonly (readonly unknown[])[]): unknown[] {
  const [first = []] = asked;
  return first.map((_, column) =>
    asked.map((values) => {
      const value = values[column];
      return Array.isArray(value) ? `{${value.join(',')}}` : value;
    }),
  );
}

/** By the text of `one`. */
export const batchedStatements: ReadonlyMap<string, BatchedStatement> = new Map(
  [findPostings, packIssuances].map((statement) => [statement.one, statement]),
);
