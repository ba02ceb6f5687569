"""exp(-a²/2) and the Mills ratio as tails."""
from __future__ import annotations

import math

from ..graph import Node
from .scaled import Scaled, Tail


class Gaussian(Scaled):
    """placeholder"""

    def gaussian(self, a: Node) -> Tail:
        e64=(-0.5000000000000003, 0.12500000000000014, -0.020833333333321612, 0.0026041666666608452, -0.0002604166668037375, 2.1701388956842924e-05, -1.5500985535978339e-06, 9.68808768045539e-08, -5.383643998103306e-09, 2.697882518226383e-10, -1.1221309091138676e-11)
        DMAG=6755399441055744.0+128.0; DC1=2*math.log(2); DK=-1/(2*math.log(2)); DC2=4.638093627692599e-17
        h=a*a; lo=self.fma(a,a,-h)
        t=self.fma(h,DK,DMAG); n=t-DMAG
        r=self.fma(n,DC2,self.fma(n,DC1,h))+lo
        w=self.polynomial(r,e64)*r
        return Tail(self.lift(1),w,self.add_exponent(self.lift(1),t))

    def mills(self, a: Node) -> Node:
        DP= [145771.4890556768, 225620.64291712327, 172772.46794895796, 84054.85644517321, 28349.880332295947, 6846.141229226496, 1183.54944681521, 141.7263455299374, 10.747652598968427, 0.3989422804000472]
        DQ= [291542.9781113536, 683858.9268797806, 745413.926366919, 498473.7263868184, 227154.57531583958, 73975.44575784137, 17513.98657584969, 2993.658874137519, 356.2552650300009, 26.940369889781294,1.0]
        return self.polynomial(a,DP)/self.polynomial(a,DQ)
