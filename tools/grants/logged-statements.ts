import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The statements of one role, from the log of a server with `log_statement = all` and the prefix below. */
export interface LoggedRole {
  /** Distinct texts. */
  readonly statements: Set<string>;
  /** Refusals with their statements. */
  readonly refused: Set<string>;
}

/** With `log_line_prefix = '%u|%a|%e '`, as tools/embedded configures temporary servers. */
const firstLine = /^([^|]*)\|([^|]*)\|(\w{5}) ([A-Z]+): {2}(.*)$/;
const executed = /^(?:statement|execute [^:]*): ([\s\S]*)$/;
const insufficientPrivilege = '42501';

interface Message {
  readonly role: string;
  readonly application: string;
  readonly code: string;
  readonly severity: string;
  text: string;
}

/** Application of specs that try forbidden statements, whose refusals are expected. */
const trying = 'tries what is forbidden';

export async function readLog(file: string): Promise<ReadonlyMap<string, LoggedRole>> {
  const roles = new Map<string, LoggedRole>();
  const refusals = new Map<string, string>();
  const take = ({ role, application, code, severity, text }: Message) => {
    if (role === '' || application === trying) return;
    const logged = roles.get(role) ?? { statements: new Set(), refused: new Set() };
    roles.set(role, logged);
    const statement = severity === 'LOG' ? executed.exec(text)?.[1] : undefined;
    if (statement !== undefined) logged.statements.add(statement.trim());
    if (severity === 'ERROR' && code === insufficientPrivilege) refusals.set(role, text);
    if (severity === 'STATEMENT' && refusals.has(role)) {
      logged.refused.add(`${refusals.get(role)}: ${text.replaceAll(/\s+/g, ' ').trim()}`);
      refusals.delete(role);
    }
  };
  let message: Message | undefined;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    // Further lines of a message begin with a tab.
    if (line.startsWith('\t') && message !== undefined) {
      message.text += `\n${line.slice(1)}`;
      continue;
    }
    if (message !== undefined) take(message);
    const [, role = '', application = '', code = '', severity = '', text = ''] = firstLine.exec(line) ?? [];
    message = severity === '' ? undefined : { role, application, code, severity, text };
  }
  if (message !== undefined) take(message);
  return roles;
}
