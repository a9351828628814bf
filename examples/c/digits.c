/* Reads pictures of handwritten digits and prints, for each, the digit and its probability. See digits.py. */

#include <stdio.h>

#include "digits.h"

enum { PICTURES = 16, PIXELS = 64, DIGITS = 10 };

/* Tensors lie wherever the program wants; on a cache line they are quickest. */
static _Alignas(64) float pictures[PICTURES * PIXELS];
static _Alignas(64) float probabilities[PICTURES * DIGITS];

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s pictures.bin\n", arguments[0]);
        return 2;
    }
    FILE *file = fopen(arguments[1], "rb");
    if (!file || fread(pictures, sizeof(float), PICTURES * PIXELS, file) != PICTURES * PIXELS) {
        fprintf(stderr, "%s does not hold %d pictures\n", arguments[1], PICTURES);
        return 1;
    }
    fclose(file);

    digits_tensor in[DIGITS_INPUTS] = {DIGITS_IN0(pictures)};
    digits_tensor out[DIGITS_OUTPUTS] = {DIGITS_OUT0(probabilities)};
    int code = digits_run(in, out);
    if (code != DIGITS_OK) {
        fprintf(stderr, "digits_run gave %d\n", code);
        return 1;
    }
    for (int i = 0; i < PICTURES; i++) {
        const float *row = probabilities + DIGITS * i;
        int best = 0;
        for (int digit = 1; digit < DIGITS; digit++)
            if (row[digit] > row[best])
                best = digit;
        printf("%d %.9g\n", best, row[best]);
    }
    return 0;
}
