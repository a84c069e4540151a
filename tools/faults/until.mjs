// @ts-check
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 100;

/**
 * @template T
 * @param {() => Promise<T> | T} probe truthy when it is so; an exception means "not yet"
 * @param {{ what: string, withinMs: number }} how
 * @returns {Promise<NonNullable<T>>}
 * @throws {Error} after that time, with what the last probe threw
 */
export async function until(probe, { what, withinMs }) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    /** @type {unknown} */
    let reason;
    try {
      const result = await probe();
      if (result) return result;
    } catch (error) {
      reason = error;
    }
    if (Date.now() >= deadline) throw new Error(`waited ${withinMs / 1000} s for ${what}`, { cause: reason });
    await delay(EVERY_MS);
  }
}
