/**
 * How a question travels: its text lies under a key of its own that ends when nobody waits any more, its id in a list
 * from which exactly one of those who answer takes it, and the answer is published on the channel of the one who asked.
 * Redis's clock is the only one, so machines may disagree about the time. The braces are Redis Cluster's hash tag.
 */
export const listKey = (queue: string): string => `{${queue}}:questions`;
export const questionKey = (queue: string, id: string): string => `{${queue}}:question:${id}`;
export const answerChannel = (queue: string, asker: string): string => `{${queue}}:answers:${asker}`;

/** While nobody answers, only ids pile up (36 octets each), and no more than these; the oldest have been given up. */
export const mostQueued = 10_000;

export interface QuestionEnvelope {
  readonly pattern: string;
  readonly data: unknown;
  /** Channel. */
  readonly answerTo: string;
}

export interface AnswerEnvelope {
  readonly id: string;
  readonly answer: unknown;
}

export function readQuestion(text: string): QuestionEnvelope | null {
  const value = objectIn(text);
  if (value === null) return null;
  const { pattern, data, answerTo } = value;
  return typeof pattern === 'string' && typeof answerTo === 'string' ? { pattern, data, answerTo } : null;
}

export function readAnswer(text: string): AnswerEnvelope | null {
  const value = objectIn(text);
  return value !== null && typeof value['id'] === 'string'
    ? { id: value['id'], answer: value['answer'] }
    : null;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
