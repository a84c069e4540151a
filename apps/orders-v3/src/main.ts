import 'reflect-metadata';
import { runProcess } from '@certwright/service';
import { readConfig } from './config';
import { start } from './front';

void runProcess({ name: 'orders-v3', config: readConfig, start });
