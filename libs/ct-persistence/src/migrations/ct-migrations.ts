import { Ct1795564800000 } from './1795564800000-ct';
import { CtFollowing1795565400000 } from './1795565400000-ct-following';

/** Every migration of the `ct` database, oldest first. */
export const ctMigrations = [Ct1795564800000, CtFollowing1795565400000];
