// @ts-check
// Checks for parts that `npm start` and `npm test` cannot install, and reports all missing ones before anything starts.
import { thisMachine } from '../embedded/machine.mjs';
import { postgresProblem } from '../embedded/postgres-binaries.mjs';
import { redisProblem } from '../embedded/redis-binaries.mjs';
import { nodeProblem } from './workspace.mjs';

/**
 * @param {object} needs
 * @param {string} needs.workspaceRoot
 * @param {string} needs.redisCache
 * @param {string} [needs.postgres] setting that names another server; undefined: it is set
 * @param {string} [needs.redis]
 * @param {import('../embedded/machine.mjs').Machine} [machine]
 * @throws {Error} with one line for each part that is missing
 */
export function requireParts({ workspaceRoot, redisCache, postgres, redis }, machine = thisMachine()) {
  const problems = [
    nodeProblem(machine),
    postgres && postgresProblem({ workspaceRoot, setting: postgres, machine }),
    redis && redisProblem({ cache: redisCache, setting: redis, machine }),
  ].filter(Boolean);
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
