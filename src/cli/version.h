/* The version, in one place. */
#ifndef VERSION_H
#define VERSION_H

/* Print it, and which inner loops and optional parts are in use. */
void version_print(void);

/* "0.1.0" */
const char *version_number(void);

#endif
