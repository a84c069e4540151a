/**
 * `baseName()` of dns-names as an SQL expression, where names are expanded inside a statement.
 *
 * @param column an expression of type text: a name in normal form
 */
export function baseNameInSql(column: string): string {
  return `(CASE WHEN ${column} LIKE '*.%' THEN substr(${column}, 3) ELSE ${column} END)`;
}
