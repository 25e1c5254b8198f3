/**
 * Node loads this before a program of the tests (global-setup.ts). PGlite is compiled once and not
 * optimised: a history of some hundred rows costs half of the CPU time with it, and the start of
 * control saves a second.
 */
require('node:v8').setFlagsFromString('--liftoff-only');
