import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';

/** Debian's, for which python3-cryptography is installed; another one may come first on PATH. */
export const python = '/usr/bin/python3';
export const program = path.join(__dirname, 'agent.py');

export function hasCryptography(): boolean {
  try {
    execFileSync(python, ['-c', 'import cryptography'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** @returns what the command prints; rejects with its errors when it fails */
export function runAgent(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(python, [program, ...args], { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr || error.message));
    });
    child.stdin?.end(input);
  });
}
