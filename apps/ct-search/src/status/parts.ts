import type { Parts } from '../parts';
import { StatusController } from './status.controller';

export const status: Parts = { controllers: [StatusController], providers: [] };
