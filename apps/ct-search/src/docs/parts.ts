import type { Parts } from '../parts';
import { DocsController } from './docs.controller';

export const docs: Parts = { controllers: [DocsController], providers: [] };
