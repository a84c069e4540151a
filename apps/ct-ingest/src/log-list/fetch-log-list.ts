import { open } from 'node:fs/promises';
import { type LogList, readLogList } from '@certwright/ct';
import { type AddressGuard, guardedRequest } from '@certwright/outbound';

/** The public lists have 100 kB. */
const maxList = 16 * 1_048_576;
const timeoutMs = 30_000;

export interface LogListPlace {
  /** A file, or a URL with http or https. */
  readonly place: string;
  readonly guard: AddressGuard;
  readonly userAgent: string;
}

/** @throws Error when the list cannot be read, or has no log */
export async function fetchLogList(from: LogListPlace): Promise<LogList> {
  const text = /^https?:\/\//i.test(from.place) ? await download(from) : await readBounded(from.place);
  const list = readLogList(JSON.parse(text));
  if (list === null || list.logs.length === 0) throw new Error('the log list is invalid or has no logs');
  return list;
}

async function download({ place, guard, userAgent }: LogListPlace): Promise<string> {
  const headers = { 'user-agent': userAgent };
  const request = { url: place, method: 'GET', headers, timeoutMs, maxResponseBytes: maxList };
  const { status, body, truncated } = await guardedRequest(guard, request);
  if (status !== 200 || truncated)
    throw new Error(`the request for the log list returned ${status}, or the list is too long`);
  return body.toString('utf8');
}

async function readBounded(path: string): Promise<string> {
  const file = await open(path);
  try {
    if ((await file.stat()).size > maxList) throw new Error('the log list is too long');
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
