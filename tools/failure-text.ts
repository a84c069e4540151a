/** What a command prints when it fails. The error of a host with several addresses has no message of its own. */
export function failureText(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(failureText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
