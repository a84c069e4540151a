/** Documented in docs/agent.md. */
export const exitCodes = {
  fine: 0,
  /** Something is wrong; it was printed. */
  problem: 1,
  /** Arguments or configuration. */
  usage: 2,
  /** Not enrolled, removed, or a copy of another machine. */
  notEnrolled: 3,
  unreachable: 4,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with one message. */
export class CommandFault extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
  ) {
    super(message);
  }
}

export interface Output {
  /** Standard output. */
  readonly print: (text: string) => void;
  /** Standard error. */
  readonly printError: (text: string) => void;
  readonly isJson: boolean;
}

/** What a command found: one JSON object, or lines of text. */
export function printResult(output: Output, json: object, lines: readonly string[]): void {
  if (output.isJson) output.print(`${JSON.stringify(json, null, 2)}\n`);
  else for (const line of lines) output.print(`${line}\n`);
}
