import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Where a program is set up for one spec. */
export interface Place {
  /** Its own, empty. */
  readonly folder: string;
  /** On 127.0.0.1. */
  readonly port: number;
}

/** A program that templates are for, and the smallest configuration around one. */
export interface Program {
  /** Name of the template. */
  readonly template: string;
  /** Tried in this order. */
  readonly commands: readonly string[];
  /** What must be there besides, as a path. */
  readonly needs?: string;
  /** Name of the main file in the folder. */
  readonly file: string;
  config(snippet: string, place: Place): string;
  /** Arguments that make it check the file and exit. */
  checkArguments(file: string, place: Place): readonly string[];
  /** The command that serves, if it differs from the one that checks. */
  server?(): string;
  /** Whether it gives up root, and so needs it. */
  readonly needsRoot?: true;
  /** What must be in the folder before it serves. */
  prepare?(place: Place): void;
  /** Arguments that make it serve in the foreground. */
  serveArguments(file: string, place: Place): readonly string[];
  /** Whether TLS begins with STARTTLS (RFC 3207). */
  readonly startTls?: true;
  /** Whether it accepts cipher suites without authenticated encryption by default. */
  readonly lenient?: true;
}

/** @returns null when it is not on this machine */
export function commandOf({ commands, needs }: Program): string | null {
  if (needs !== undefined && !existsSync(needs)) return null;
  for (const command of commands) {
    try {
      execFileSync('/bin/sh', ['-c', 'command -v "$0"', command], { stdio: 'ignore' });
      return command;
    } catch {
      // Not under this name.
    }
  }
  return null;
}
