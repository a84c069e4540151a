import 'reflect-metadata';
import { runProcess, startModules } from '@certwright/service';
import { AppModule } from './app.module';
import { Config, config } from './config';

/** Delay after a failed round, ms. */
const afterErrorMs = 5_000;

void runProcess({ name: 'ct-ingest', config, start: startModules(AppModule, Config, afterErrorMs) });
