import 'reflect-metadata';
import { runProcess, startModules } from '@certwright/service';
import { AppModule } from './app.module';
import { Config, config } from './config';

void runProcess({ name: 'monitoring-worker', config, start: startModules(AppModule, Config) });
