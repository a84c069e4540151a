/** Its message is shown to operators, behind the address. */
export class ProbeError extends Error {}

/** Text of a server on one line: other characters than printable ASCII become `?`. */
export function shown(text: string, maxLength: number): string {
  const line = text.replace(/[^\x20-\x7e]/g, '?');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 3)}...`;
}
