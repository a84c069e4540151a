import type { Parts } from '../parts';
import { ConfigTemplatesController } from './config-templates.controller';

export const configTemplates: Parts = { controllers: [ConfigTemplatesController], providers: [] };
